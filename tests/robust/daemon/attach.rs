//! `trace record --attach` records programs that run already.

use std::path::Path;

use trace_manager::controller::SessionState;

use super::*;
use crate::harness::Archive;

/// `trace record --attach` in the daemon's directory.
fn attach(daemon: &Daemon, to: &str, options: &[&str]) -> Child {
    let mut command = trace(&["record", "--attach", to, "--socket"]);
    command.arg(daemon.path("manager.sock")).args(options).current_dir(daemon.path("."));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the session of the recorder records. Returns its name.
#[track_caller]
fn started(daemon: &Daemon, recorder: &Child) -> String {
    let name = format!("record-{}", recorder.id());
    wait_until("the session records", || {
        std::thread::sleep(BETWEEN_REQUESTS);
        let sessions = daemon.controller().sessions().unwrap();
        sessions.iter().any(|it| it.name == name && it.state == SessionState::Started)
    });
    name
}

fn interrupt(recorder: &Child) {
    kill_process(Pid::from_child(recorder), Signal::Int).unwrap();
}

fn processes(archive: &Path) -> Vec<u64> {
    Archive::read(archive).providers.iter().map(|provider| provider.pid).collect()
}

#[test]
fn a_recording_attaches_to_one_process() {
    let daemon = Daemon::start();
    let programs = [daemon.program("chatter"), daemon.program("chatter")];
    daemon.wait_for_programs(2);
    let options = ["-o", "one.fxt", "--json"];
    let recorder = attach(&daemon, &programs[1].pid().to_string(), &options);
    let session = started(&daemon, &recorder);
    daemon.wait_for_events(&session, 1);
    interrupt(&recorder);
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 0, "{run:?}");
    let summary: Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!((&summary["lost"], &summary["written"]), (&0.into(), &true.into()));
    assert_eq!(processes(&daemon.path("one.fxt")), [programs[1].pid()]);
    assert!(daemon.controller().sessions().unwrap().is_empty(), "the session has ended");
    assert_eq!(daemon.controller().providers().unwrap().len(), 2, "the programs continue");
}

#[test]
fn a_recording_attaches_to_a_name_or_to_all() {
    let daemon = Daemon::start();
    let first = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let name = daemon.controller().providers().unwrap()[0].name.clone();
    for to in [&name, "all"] {
        let output = format!("{}.fxt", if to == "all" { "all" } else { "name" });
        let recorder = attach(&daemon, to, &["-o", &output]);
        let session = started(&daemon, &recorder);
        let later = daemon.program("chatter");
        daemon.wait_for_events(&session, 2);
        interrupt(&recorder);
        let run = Run::end_of(recorder);
        assert_eq!(run.code(), 0, "{run:?}");
        let mut expected = [first.pid(), later.pid()];
        let mut found = processes(&daemon.path(&output));
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
        drop(later);
        daemon.wait_for_programs(1);
    }
}

#[test]
fn a_recording_ends_after_its_time_or_with_its_programs() {
    let daemon = Daemon::start();
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let run = Run::end_of(attach(&daemon, "all", &["-o", "time.fxt", "-d", "200ms"]));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(daemon.path("time.fxt").exists());
    let recorder = attach(&daemon, &program.pid().to_string(), &["-o", "end.fxt", "--wait"]);
    let session = started(&daemon, &recorder);
    daemon.wait_for_events(&session, 1);
    drop(program);
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(processes(&daemon.path("end.fxt")).len(), 1);
}

/// The archive is completed by its guard.
#[test]
fn a_recording_whose_daemon_is_killed_names_the_archive() {
    let mut daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let recorder = attach(&daemon, "all", &["-o", "killed.fxt"]);
    let session = started(&daemon, &recorder);
    daemon.wait_for_events(&session, 1);
    daemon.child.kill().unwrap();
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("is in killed.fxt, if the session had a guard"), "{run:?}");
    wait_until("the archive is complete", || daemon.path("killed.fxt").exists());
    assert_eq!(processes(&daemon.path("killed.fxt")).len(), 1);
}

/// The session belongs to the command.
#[test]
fn a_killed_recording_ends_its_session() {
    let daemon = Daemon::start();
    let _program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let mut recorder = attach(&daemon, "all", &["-o", "killed.fxt"]);
    let session = started(&daemon, &recorder);
    daemon.wait_for_events(&session, 1);
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    wait_until("the archive is complete", || daemon.path("killed.fxt").exists());
    assert_eq!(processes(&daemon.path("killed.fxt")).len(), 1);
}

/// The command of a trigger runs as the user of the recorder, with the snapshot's path.
#[test]
fn triggers_of_an_attached_recording_run_commands_and_set_its_status() {
    let daemon = Daemon::start();
    let _program = daemon.program("alert-chatter");
    daemon.wait_for_programs(1);
    let copied = daemon.path("copied.fxt");
    let run = format!("alert:flood:run:cp \"$1\" {0}.part; mv {0}.part {0}", copied.display());
    let triggers = ["--trigger", &run, "--trigger", "alert:flood:status=9", "--keep", "1"];
    let recorder = attach(&daemon, "all", &[&["-o", "a.fxt"], &triggers[..]].concat());
    wait_until("the command has run", || copied.exists());
    interrupt(&recorder);
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 9, "{run:?}");
    assert!(run.stderr().contains("alert \"flood\": snapshot "), "{run:?}");
    assert_eq!(processes(&copied).len(), 1);
}

#[test]
fn a_trigger_that_exits_ends_an_attached_recording() {
    let daemon = Daemon::start();
    let _program = daemon.program("alert-chatter");
    daemon.wait_for_programs(1);
    let trigger = ["-o", "a.fxt", "--trigger", "alert:flood:exit=4:run:wc -c <\"$1\" >size"];
    let run = Run::end_of(attach(&daemon, "all", &trigger));
    assert_eq!(run.code(), 4, "{run:?}");
    let size = std::fs::read_to_string(daemon.path("size")).unwrap();
    let archive = std::fs::metadata(daemon.path("a.fxt")).unwrap().len();
    assert_eq!(size.trim(), archive.to_string(), "the archive is complete");
}

#[test]
fn unknown_programs_and_a_missing_daemon_are_reported() {
    let daemon = Daemon::start();
    let run = Run::end_of(attach(&daemon, "1", &[]));
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("no program is registered with the daemon"), "{run:?}");
    let program = daemon.program("chatter");
    daemon.wait_for_programs(1);
    let run = Run::end_of(attach(&daemon, "sujbect", &["-o", "none.fxt"]));
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("cannot attach to sujbect: no such program"), "{run:?}");
    assert!(run.stderr().contains(&format!("hint: programs are subject ({})", program.pid())));
    assert!(!daemon.path("none.fxt").exists());
    let directory = tempfile::tempdir().unwrap();
    let mut command = trace(&["record", "--attach", "all", "--socket"]);
    let run = Run::of(command.arg(directory.path().join("manager.sock")));
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr().contains("hint: start one with trace daemon"), "{run:?}");
    let run = Run::of(&mut trace(&["record", "--attach", "all", "--", "true"]));
    assert_eq!(run.code(), 2, "{run:?}");
}
