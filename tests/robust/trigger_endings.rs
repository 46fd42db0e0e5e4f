//! Ends of recordings that have triggers: exit statuses, and errors at the end.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use tempfile::TempDir;

use crate::harness::{happens, record, trace, wait_until, Run};

/// Returns a command that records a program which meets `condition` and then runs for
/// `milliseconds`, in this directory.
fn recording(directory: &TempDir, options: &[&str], condition: &str, milliseconds: u64) -> Command {
    let role = ["meet-condition", condition, &milliseconds.to_string()];
    let mut command = record(options, &directory.path().join("out.fxt"), &role);
    command.current_dir(directory.path());
    command
}

/// Waits for the end of a process. Kills it if it does not end.
fn end_of(child: Child) -> Run {
    let pid = Pid::from_child(&child);
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let has_ended = || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    let ends = happens(has_ended);
    if !ends {
        kill_process(pid, Signal::Kill).unwrap();
    }
    let run = Run::end_of(child);
    assert!(ends, "it does not end: {run:?}");
    run
}

/// No program joins.
#[test]
fn a_trigger_ends_a_recording_that_waits_for_programs() {
    for trigger in ["every:100ms:stop", "every:100ms:exit=3"] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = trace(&["record", "--wait", "--socket", "socket", "--trigger", trigger]);
        command.current_dir(directory.path()).stderr(Stdio::piped());
        let run = end_of(command.spawn().unwrap());
        assert_eq!(run.code(), if trigger.ends_with("exit=3") { 3 } else { 0 }, "{run:?}");
        assert!(run.stderr().contains("every:100ms: recording ends"), "{run:?}");
    }
}

/// The summary cannot be written.
#[test]
fn commands_run_if_the_end_of_the_recording_fails() {
    for trigger in ["log:error:stop:run:touch ran", "log:error:run:sleep 0.5; touch ran"] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = recording(&directory, &["--json", "--trigger", trigger], "log", 0);
        command.stdout(File::create("/dev/full").unwrap()).stderr(Stdio::piped());
        let run = end_of(command.spawn().unwrap());
        assert_eq!(run.code(), 125, "{run:?}");
        assert!(directory.path().join("ran").exists(), "{trigger}: {run:?}");
    }
}

/// The program that `-d` has ended has the status 143.
#[test]
fn a_command_does_not_replace_the_status_of_a_time_limit() {
    let directory = tempfile::tempdir().unwrap();
    // It runs until the program has ended.
    let trigger = "every:50ms:min-interval=1h:run:\
                   touch ran; while ! test -e out.fxt; do sleep 0.05; done; sleep 1";
    let options = ["-d", "1s", "--trigger", trigger];
    let run = Run::of(&mut recording(&directory, &options, "nothing", 600_000));
    assert!(directory.path().join("ran").exists(), "{run:?}");
    assert_eq!(run.code(), 0, "{run:?}");
}

#[test]
fn the_examples_of_the_help_are_accepted() {
    let help = Run::of(&mut trace(&["record", "--help"])).stdout();
    let examples = help.lines().map(str::trim_start).filter(|line| line.contains("--trigger"));
    let examples: Vec<_> = examples.filter(|line| line.starts_with("trace record ")).collect();
    assert!(examples.len() >= 4, "{help}");
    let program = trace(&[]).get_program().to_owned();
    for example in examples {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/true", directory.path().join("server")).unwrap();
        let mut shell = Command::new("/bin/sh");
        let text = format!("trace() {{ \"$TRACE_PROGRAM\" \"$@\"; }}; {example}");
        shell.args(["-c", &text]).env("TRACE_PROGRAM", &program).current_dir(directory.path());
        let run = Run::of(&mut shell);
        assert_eq!(run.code(), 0, "{example}: {run:?}");
    }
}

#[test]
fn a_command_of_a_pipe_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for action in ["stop", "exit"] {
        let trigger = format!("log:error:{action}:run:true");
        let mut command = trace(&["record", "-o", "-", "--trigger", &trigger, "--", "true"]);
        let run = Run::of(command.current_dir(directory.path()));
        assert_eq!(run.code(), 125, "{run:?}");
        assert!(run.stderr().contains("requires an archive that is a file"), "{run:?}");
    }
}

/// The user ends the program.
#[test]
fn a_signal_that_is_forwarded_is_not_a_death() {
    for (signal, status) in [(Signal::Term, 143), (Signal::Int, 130)] {
        let directory = tempfile::tempdir().unwrap();
        let options = ["--trigger", "death:run:touch ran"];
        let mut command = recording(&directory, &options, "nothing", 600_000);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        // The partial archive exists once signals are handled.
        let is_recording = || fs::read_dir(directory.path()).unwrap().count() > 0;
        wait_until("it records", is_recording);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let run = end_of(child);
        assert_eq!(run.code(), status, "{run:?}");
        assert!(!run.stderr().contains("death"), "{run:?}");
        assert!(!directory.path().join("ran").exists());
    }
}

/// Its path is that of the archive.
#[test]
fn a_command_of_a_snapshot_and_a_stop_runs_once() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--trigger", "log:error:snapshot:stop:run:echo \"$1\" >> runs"];
    let run = Run::of(&mut recording(&directory, &options, "log", 0));
    let runs = fs::read_to_string(directory.path().join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 1, "{runs} {run:?}");
    assert!(runs.ends_with("/out.fxt\n"), "{runs}");
}
