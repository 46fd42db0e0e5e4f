//! Commands of triggers, and the end of recordings that have them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use tempfile::TempDir;

use crate::harness::{record, trace, wait_until, Archive, Run};

/// A directory for an archive and the files of commands.
struct Scene(TempDir);

impl Scene {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns a command that records a program which meets `condition` and then runs for
    /// `milliseconds`. Commands of triggers run in this directory.
    fn command(&self, options: &[&str], condition: &str, milliseconds: u64) -> Command {
        let role = ["meet-condition", condition, &milliseconds.to_string()];
        let mut command = record(options, &self.path("out.fxt"), &role);
        command.current_dir(self.0.path());
        command
    }

    fn run(&self, triggers: &[&str], condition: &str) -> Run {
        let options: Vec<_> = triggers.iter().flat_map(|trigger| ["--trigger", trigger]).collect();
        Run::of(&mut self.command(&options, condition, 0))
    }

    fn start(&self, options: &[&str], condition: &str, milliseconds: u64) -> Running {
        let mut command = self.command(options, condition, milliseconds);
        Running(Some(command.stderr(Stdio::piped()).spawn().unwrap()))
    }

    /// Returns the process whose id a command has written.
    fn process(&self, name: &str) -> Pid {
        wait_until("the command has written its process id", || {
            fs::read_to_string(self.path(name)).is_ok_and(|text| text.ends_with('\n'))
        });
        let text = fs::read_to_string(self.path(name)).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }
}

/// A running `trace record`, which is killed if the test fails.
struct Running(Option<Child>);

impl Running {
    fn signal(&self, signal: Signal) {
        let child = self.0.as_ref().unwrap();
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    fn has_ended(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    fn end(mut self) -> Run {
        wait_until("trace record has ended", || self.has_ended());
        Run::end_of(self.0.take().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ended = child.kill();
            let _ended = child.wait();
        }
    }
}

/// Returns whether a process is running: it exists and is not a zombie.
fn is_running(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with('Z')))
}

fn is_archive(path: &Path) -> bool {
    // Scopes are open in a snapshot.
    [0, 3].contains(&Run::of(trace(&["check"]).arg(path)).code())
}

/// The text of the command does not depend on where the path is inserted.
#[test]
fn the_path_of_the_archive_is_the_first_parameter() {
    let scene = Scene::new();
    for (number, command) in [
        "echo \"$1\" > path",
        "echo $TRACE_ARCHIVE > path # a note",
        "true; echo \"$1\" | tee path",
        "echo \"$1\" > path &",
        "echo \"$@\" > path\ntrue",
    ]
    .iter()
    .enumerate()
    {
        let run = scene.run(&[&format!("log:error:run:{command}")], "log");
        assert_eq!(run.code(), 0, "{run:?}");
        wait_until("the command has written the path", || {
            fs::read_to_string(scene.path("path")).is_ok_and(|text| text.ends_with('\n'))
        });
        let path = fs::read_to_string(scene.path("path")).unwrap();
        fs::remove_file(scene.path("path")).unwrap();
        let path = Path::new(path.trim_end());
        assert!(path.is_absolute() && is_archive(path), "{number}: {path:?}");
        assert!(run.stderr().contains(path.file_name().unwrap().to_str().unwrap()));
    }
}

/// Without a use of its parameter, a command gets no path.
#[test]
fn a_command_does_not_change_an_archive_by_accident() {
    let scene = Scene::new();
    let run = scene.run(&["log:error:run:echo gone | tee"], "log");
    assert_eq!(run.code(), 0, "{run:?}");
    let files = fs::read_dir(scene.0.path()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files.iter().all(|file| is_archive(file)), "{files:?}");
}

/// The condition and the stop come at the same time.
#[test]
fn a_condition_at_the_end_stops_the_recording_and_runs_its_command() {
    for _ in 0..5 {
        let scene = Scene::new();
        let run = scene.run(&["death:stop:run:echo \"$1\" > path"], "abort");
        assert_eq!(run.code(), 134, "{run:?}");
        let path = fs::read_to_string(scene.path("path")).unwrap_or_else(|_| panic!("{run:?}"));
        assert_eq!(Path::new(path.trim_end()), scene.path("out.fxt"));
        assert!(run.stderr().contains("death: recording ends"), "{run:?}");
    }
}

#[test]
fn a_condition_in_the_last_records_runs_its_command() {
    let scene = Scene::new();
    let run = scene.run(&["log:error:stop:run:touch ran", "log:error:status=9"], "log");
    assert_eq!((run.code(), scene.path("ran").exists()), (9, true), "{run:?}");
}

#[test]
fn an_exit_status_of_a_trigger_wins_over_that_of_the_command() {
    for (trigger, status) in
        [("death:exit=5", 5), ("death:status=7", 7), ("death:exit", 0), ("death:status=0", 0)]
    {
        let scene = Scene::new();
        let run = scene.run(&[trigger], "abort");
        assert_eq!(run.code(), status, "{trigger}: {run:?}");
        assert!(is_archive(&scene.path("out.fxt")));
    }
}

/// A signal that arrives while only the command runs ends it and its children.
#[test]
fn a_signal_ends_the_command_that_runs_at_the_end() {
    let trigger = "log:error:stop:run:sh -c 'echo $$ > pid; sleep 600; true'; true";
    for signal in [Signal::Term, Signal::Int] {
        let scene = Scene::new();
        let mut record = scene.start(&["--trigger", trigger], "log", 0);
        let pid = scene.process("pid");
        wait_until("the recording is complete", || scene.path("out.fxt").exists());
        assert!(!record.has_ended());
        wait_until("it ends", || {
            record.signal(signal);
            record.has_ended()
        });
        assert_eq!(record.end().code(), 130);
        wait_until("the process group has ended", || !is_running(pid));
    }
}

/// The recorded program has the signal, too.
#[test]
fn a_signal_is_forwarded_while_a_command_runs() {
    let scene = Scene::new();
    let trigger = "log:error:stop:run:echo $$ > pid; sleep 600; true";
    let mut record = scene.start(&["--trigger", trigger], "log", 600_000);
    let pid = scene.process("pid");
    wait_until("the recording is complete", || scene.path("out.fxt").exists());
    assert!(!record.has_ended() && is_running(pid));
    wait_until("it ends", || {
        record.signal(Signal::Term);
        record.has_ended()
    });
    wait_until("the command has ended", || !is_running(pid));
}

/// A command that ignores SIGTERM.
#[test]
fn a_command_that_ignores_signals_is_killed() {
    let scene = Scene::new();
    let trigger = "log:error:stop:run:trap '' TERM; echo $$ > pid; sleep 600; sleep 600";
    let mut record = scene.start(&["--trigger", trigger], "log", 0);
    let pid = scene.process("pid");
    wait_until("the recording is complete", || scene.path("out.fxt").exists());
    wait_until("it ends", || {
        record.signal(Signal::Term);
        record.has_ended()
    });
    wait_until("the command has ended", || !is_running(pid));
}

#[test]
fn a_command_whose_snapshot_was_removed_does_not_run() {
    let scene = Scene::new();
    // The first command runs while others wait for it.
    let command = "touch runs; while ! test -e end; do sleep 0.05; done";
    let trigger = format!("every:10ms:min-interval=1ns:run:{command}");
    let record = scene.start(&["--keep", "1", "--trigger", &trigger], "nothing", 600_000);
    wait_until("a command runs", || scene.path("runs").exists());
    let mut all = BTreeSet::new();
    wait_until("the second of three snapshots is removed", || {
        let names = fs::read_dir(scene.0.path()).unwrap().map(|it| it.unwrap().file_name());
        let names = names.filter(|name| name.to_string_lossy().starts_with("out-snapshot-"));
        let now = Vec::from_iter(names);
        all.extend(now.iter().cloned());
        all.len() >= 3 && now.len() == 1
    });
    fs::write(scene.path("end"), "").unwrap();
    record.signal(Signal::Term);
    let run = record.end();
    assert!(run.stderr().contains("does not run: its archive"), "{run:?}");
}

/// Commands of compressed snapshots run at the end.
#[test]
fn commands_of_compressed_snapshots_run_for_those_that_are_kept() {
    let scene = Scene::new();
    let trigger = "every:10ms:min-interval=1ns:keep=2:run:echo \"$1\" >> runs";
    let role = [trigger, "meet-condition", "nothing", "600000"];
    let mut command = record(&["--trigger", role[0]], &scene.path("out.fxt.gz"), &role[1..]);
    let child = command.current_dir(scene.0.path()).stderr(Stdio::piped()).spawn().unwrap();
    let record = Running(Some(child));
    wait_until("a snapshot is removed", || {
        // Each snapshot has its time in its name.
        let names = fs::read_dir(scene.0.path()).unwrap().map(|it| it.unwrap().file_name());
        let text = names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>();
        text.iter().filter(|name| name.starts_with("out-snapshot-")).count() == 2
    });
    record.signal(Signal::Term);
    let run = record.end();
    let runs = fs::read_to_string(scene.path("runs")).unwrap();
    assert_eq!(runs.lines().count(), 2, "{run:?}");
    assert!(runs.lines().all(|path| path.ends_with(".gz") && is_archive(Path::new(path))));
}

/// After `stop`, the signal of a trigger does not reach the program.
#[test]
fn the_signal_of_a_trigger_is_not_forwarded_at_the_end() {
    let scene = Scene::new();
    let mut record = scene.start(&["--trigger", "signal:USR2:stop"], "nothing", 600_000);
    let partial = || {
        let names = fs::read_dir(scene.0.path()).unwrap();
        names.count() > 0
    };
    wait_until("it records", partial);
    wait_until("the recording is complete", || {
        record.signal(Signal::Usr2);
        scene.path("out.fxt").exists()
    });
    (0..20).for_each(|_| record.signal(Signal::Usr2));
    record.signal(Signal::Term);
    let run = Run::end_of(record.0.take().unwrap());
    // SIGTERM has ended the program, not SIGUSR2.
    assert_eq!(run.code(), 128 + 15, "{run:?}");
}

#[test]
fn commands_of_alerts_need_the_keyword() {
    let scene = Scene::new();
    for old in ["job:run:done:snapshot", "job:run:done", "job:snapshot:run:true"] {
        let run = scene.run(&[old], "nothing");
        assert!(run.code() != 0, "{run:?}");
        let hint = format!("use 'alert:{old}'");
        assert!(run.stderr().contains(&hint), "{run:?}");
    }
    let run = scene.run(&["alert:job:run:touch ran"], "alert:job");
    assert_eq!((run.code(), scene.path("ran").exists()), (0, true), "{run:?}");
}

/// Snapshots of a trigger with its own number count for the size limit.
#[test]
fn the_size_limit_holds_for_triggers_with_their_own_number() {
    let scene = Scene::new();
    let options =
        ["--max-size", "1", "--trigger", "every:10ms:min-interval=1ns:keep=1000", "--json"];
    let mut record = scene.command(&options, "nothing", 600_000);
    let running = record.stdout(Stdio::piped()).spawn().unwrap();
    let running = Running(Some(running));
    let snapshots = || {
        let names = fs::read_dir(scene.0.path()).unwrap().map(|it| it.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("out-snapshot-")).collect::<Vec<_>>()
    };
    wait_until("a snapshot", || !snapshots().is_empty());
    let first = snapshots().remove(0);
    wait_until("a newer snapshot, without the first", || {
        let now = snapshots();
        !now.is_empty() && !now.contains(&first)
    });
    running.signal(Signal::Term);
    running.end();
    assert_eq!(snapshots().len(), 1);
}

#[test]
fn a_snapshot_for_a_command_is_complete() {
    let scene = Scene::new();
    let run = scene.run(&["alert:job:run:cp \"$1\" copy"], "alert:job");
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&scene.path("copy"));
    assert_eq!(archive.only().numbers("before"), Vec::from_iter(0..50));
}
