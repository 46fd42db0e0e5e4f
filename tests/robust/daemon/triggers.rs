//! Triggers of the daemon's sessions.

use super::*;
use crate::harness::Archive;

/// A session with a command that runs until the configuration is removed.
const CONFIG: &str = "[session.errors]\ntrigger = ['log:error:run:cd \"$(dirname \"$1\")\" && \
    touch started && while test -e daemon.toml; do sleep 0.1; done #']\n";

fn meet(daemon: &Daemon, condition: &str) {
    let mut program = subject(&["meet-condition", condition, "0"]);
    let run = Run::of(program.env("TRACE_SOCKET", daemon.path("manager.sock")));
    assert_eq!(run.code(), 0, "{run:?}");
}

fn snapshots(daemon: &Daemon) -> usize {
    snapshot_names(daemon).len()
}

/// Returns the names of the complete snapshots, the oldest first.
fn snapshot_names(daemon: &Daemon) -> Vec<String> {
    let entries = std::fs::read_dir(daemon.path(".")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_snapshot = |name: &String| name.contains("-snapshot-") && !name.starts_with('.');
    let mut names: Vec<String> = names.filter(is_snapshot).collect();
    names.sort();
    names
}

#[test]
fn a_session_ends_while_a_command_of_its_trigger_runs() {
    let daemon = Daemon::with_config(CONFIG);
    wait_until("the session records", || daemon.json(&["status"])[0]["state"] == "started");
    meet(&daemon, "log");
    wait_until("the command runs", || daemon.path("started").exists());
    let results = daemon.json(&["stop", "errors"]);
    assert_eq!(results["conditions"]["log:error"], 1);
    assert_eq!(snapshots(&daemon), 1);
    std::fs::remove_file(daemon.path("daemon.toml")).unwrap();
}

/// The daemon ends the process group of the command.
#[test]
fn a_daemon_ends_while_a_command_of_a_trigger_runs() {
    let mut daemon = Daemon::with_config(
        "[session.errors]\ntrigger = ['log:error:stop:run:echo $$ > \"$1.pid\"; sleep 600; true']\n",
    );
    wait_until("the session records", || daemon.json(&["status"])[0]["state"] == "started");
    meet(&daemon, "log");
    let path = daemon.path("errors.fxt.pid");
    let text = || std::fs::read_to_string(&path).unwrap_or_default();
    wait_until("the command runs", || text().ends_with('\n'));
    daemon.signal(Signal::Term);
    wait_until("the daemon ends", || daemon.child.try_wait().unwrap().is_some());
    let stat = format!("/proc/{}/stat", text().trim());
    let is_running = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    wait_until("the command has ended", || !is_running());
}

#[test]
fn a_session_of_a_client_has_conditions_without_commands() {
    let daemon = Daemon::start();
    let start = |name: &str, trigger: &str| {
        let output = format!("{name}.fxt");
        daemon.run(&["start", "--name", name, "-o", &output, "--trigger", trigger])
    };
    for (trigger, why) in [
        ("log:error:run:true", "only for sessions of its own configuration"),
        ("signal:USR1", "requires trace record"),
        ("drop:status=3", "sets an exit status"),
    ] {
        let run = start("refused", trigger);
        assert!(run.code() != 0 && run.stderr().contains(why), "{trigger}: {run:?}");
    }
    let run = start("slow", "duration:web/request>50ms");
    assert_eq!(run.code(), 0, "{run:?}");
    meet(&daemon, "scope");
    wait_until("a snapshot", || snapshots(&daemon) == 1);
    let results = daemon.json(&["stop", "slow"]);
    assert_eq!(results["conditions"]["duration:web/request>50ms"], 1);
}

/// The program records on: its end is not what makes the condition hold.
#[test]
fn conditions_over_records_hold_while_a_circular_session_records() {
    for (trigger, kind) in [("counter:app/queue.depth>100", "counter"), ("log:error", "log")] {
        let daemon = Daemon::start();
        let options = ["-m", "circular", "-o", "flight.fxt", "--trigger", trigger];
        daemon.json(&[&["start", "--name", "flight"], &options[..]].concat());
        let mut program = subject(&["meet-condition", kind, "600000"]);
        let mut program = program.env("TRACE_SOCKET", daemon.path("manager.sock")).spawn().unwrap();
        wait_until("a snapshot", || snapshots(&daemon) == 1);
        let snapshot = Archive::read(&daemon.path(&snapshot_names(&daemon)[0]));
        assert_eq!(snapshot.only().numbers("before"), Vec::from_iter(0..50), "{trigger}");
        program.kill().unwrap();
        program.wait().unwrap();
        assert_eq!(daemon.json(&["stop", "flight"])["conditions"][trigger], 1);
    }
}

/// A program that ends by itself, or by a signal that asks it to end, has not died.
#[test]
fn the_death_of_a_program_takes_a_snapshot_with_its_last_records() {
    let daemon = Daemon::start();
    let options = ["-m", "circular", "--trigger", "death", "--min-interval", "1ms"];
    daemon.json(&[&["start", "--name", "flight", "-o", "flight.fxt"], &options[..]].concat());
    meet(&daemon, "nothing");
    let ended = daemon.program("chatter");
    daemon.wait_for_programs(1);
    kill_process(Pid::from_raw(ended.pid() as i32).unwrap(), Signal::Term).unwrap();
    daemon.wait_for_programs(0);
    for (number, kind) in [(1, "abort"), (2, "panic")] {
        let mut program = subject(&["meet-condition", kind, "0"]);
        program.env("TRACE_SOCKET", daemon.path("manager.sock")).stderr(Stdio::null());
        // Before Linux 6.15, its status is unknown once it is waited for.
        let mut program = program.spawn().unwrap();
        wait_until("a snapshot", || snapshots(&daemon) == number);
        program.wait().unwrap();
        let snapshot = snapshot_names(&daemon).pop().unwrap();
        let archive = Archive::read(&daemon.path(&snapshot));
        let own = archive.providers.iter().find(|it| it.pid == u64::from(program.id())).unwrap();
        assert_eq!(own.count("before"), 50, "{kind}");
    }
    let results = daemon.json(&["stop", "flight"]);
    assert_eq!(results["conditions"]["death"], 2);
}

/// The archive of a session with `rotate` is its last part.
#[test]
fn a_command_gets_the_last_part_of_an_archive() {
    let daemon = Daemon::with_config(
        "[session.errors]\nrotate = '10m'\n\
         trigger = ['log:error:stop:run:echo \"$1\" > \"$1.path\"']\n",
    );
    wait_until("the session records", || daemon.json(&["status"])[0]["state"] == "started");
    meet(&daemon, "log");
    let path = daemon.path("errors.1.fxt.path");
    let text = || std::fs::read_to_string(&path).unwrap_or_default();
    wait_until("the command runs", || text().ends_with('\n'));
    assert_eq!(PathBuf::from(text().trim_end()), daemon.path("errors.1.fxt"));
}

/// Each part has its name when the command runs, also the last one.
#[test]
fn a_command_runs_for_each_part_of_an_archive() {
    let daemon = Daemon::with_config(
        "[session.all]\nrotate = '100ms'\n\
         trigger = ['part:run:test -s \"$1\" && echo \"$1\" >> \"$(dirname \"$1\")/parts\"']\n",
    );
    wait_until("the session records", || daemon.json(&["status"])[0]["state"] == "started");
    let parts = || std::fs::read_to_string(daemon.path("parts")).unwrap_or_default();
    while parts().lines().count() < 3 {
        meet(&daemon, "log");
    }
    let results = daemon.json(&["stop", "all"]);
    let expected: Vec<&str> =
        results["parts"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
    wait_until("the last command runs", || parts().lines().count() == expected.len());
    assert_eq!(parts().lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_trigger_of_parts_requires_an_archive_that_is_cut() {
    let daemon = Daemon::start();
    let start = |options: &[&str]| {
        daemon.run(&[&["start", "-o", "a.fxt", "--trigger", "part:run:true"], options].concat())
    };
    let run = start(&[]);
    assert!(run.code() != 0 && run.stderr().contains("an archive that is cut"), "{run:?}");
    let run = start(&["--rotate", "1m"]);
    assert!(run.code() != 0 && run.stderr().contains("its own configuration"), "{run:?}");
}

/// The directory of the archive has another name by then.
#[test]
fn a_snapshot_of_a_trigger_that_fails_is_logged() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut command = trace(&["daemon", "--socket"]);
    command.arg(directory.path().join("manager.sock")).arg("--dir").arg(directory.path());
    let child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let daemon = Daemon { directory, child };
    wait_until("the daemon answers", || Controller::connect(&daemon.path("control.sock")).is_ok());
    std::fs::create_dir(daemon.path("old")).unwrap();
    let options = ["-m", "circular", "-o", "old/a.fxt", "--trigger", "every:2s"];
    daemon.json(&[&["start", "--name", "a"], &options[..]].concat());
    std::fs::rename(daemon.path("old"), daemon.path("new")).unwrap();
    wait_until("the failure is logged", || {
        std::fs::read_to_string(&log).unwrap().contains("session a: no snapshot ")
    });
}
