//! `trace insn record --snapshot`: the instructions before an alert, or before a scope is too long.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{kill_process, Pid, Signal};

use crate::daemon::Daemon;
use crate::harness::programs::example_path;
use crate::harness::{subject, subject_path, trace, wait_until, Archive, Run};
use crate::instruction_scopes::scopes;

/// The index of the request that sleeps.
const SLOW: usize = 3;

/// The length above which a request has a snapshot.
const LONG_NANOS: u64 = 50_000_000;

/// How often a request before the one that sleeps may take that long, on a machine with other work.
const ATTEMPTS: u32 = 20;

/// Records a program that waits for the dump. Returns the output.
fn record(directory: &Path, condition: &str) -> Run {
    let mut record = trace(&["insn", "record", "--engine", "block", "--snapshot", condition]);
    // On a slow machine, the program waits for long, in instructions that are recorded.
    record.args(["--ring", "65536", "-o"]).arg(directory).arg("--").arg(example_path("slow_once"));
    Run::of(record.arg(directory.join("snapshot-1")))
}

/// Returns the calls of the first dump.
fn calls(directory: &Path) -> String {
    calls_of(&directory.join("snapshot-1"))
}

fn calls_of(dump: &Path) -> String {
    let printed = Run::of(trace(&["insn", "print"]).arg(dump));
    assert_eq!(printed.code(), 0, "{printed:?}");
    printed.stdout()
}

/// Returns the lengths of the requests in nanoseconds, in the order of time.
fn lengths(directory: &Path) -> Vec<u64> {
    let rate = Archive::read(&directory.join("scopes.fxt")).only().rate;
    let mut scopes = scopes(directory, "request");
    scopes.sort_unstable();
    scopes.into_iter().map(|(begin, end)| rate.to_nanos(end - begin)).collect()
}

#[test]
fn the_dump_of_an_alert_has_the_instructions_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("dump");
    let run = record(&directory, "alert:slow");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("1 snapshot\n"), "{run:?}");
    let calls = calls(&directory);
    assert!(calls.contains("slow_once::read_again"), "{run:?}");
    assert!(!calls.contains("slow_once::finish"), "{run:?}");
    let stats = Run::of(trace(&["stats"]).arg(directory.join("scopes.fxt")));
    assert!(stats.stdout().contains("request"), "{stats:?}");
}

/// The signal to the process that traces would come too late.
#[test]
fn an_alert_right_before_the_end_has_its_dump() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("dump");
    let mut record = trace(&["insn", "record", "--engine", "block", "-o"]);
    record.arg(&directory).args(["--snapshot", "alert:failed", "--"]).arg(subject_path());
    let run = Run::of(record.arg("alert-at-end"));
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("1 snapshot\n"), "{run:?}");
    assert!(!run.stderr().contains("another command"), "{run:?}");
    let calls = calls(&directory);
    assert!(calls.contains("subject::alerts::last_function"), "{calls}");
}

#[test]
fn the_dump_of_a_long_scope_has_its_instructions() {
    // Of several requests that are too long, which a slow machine has, the dump is of the first.
    let is_of_the_slow_one = (0..ATTEMPTS).any(|_| slow_request_is_dumped());
    assert!(is_of_the_slow_one, "in each of {ATTEMPTS} recordings, another request was as slow");
}

/// Records until a request takes too long, and checks the dump. Returns whether it is of the
/// request that sleeps.
fn slow_request_is_dumped() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("dump");
    let run = record(&directory, "duration:web/request>50ms");
    assert_eq!(run.code(), 0, "{run:?}");
    let calls = calls(&directory);
    assert!(!calls.contains("slow_once::finish"), "{run:?}");
    let lengths = lengths(&directory);
    assert_eq!(lengths.len(), 5);
    assert!(lengths[SLOW] >= 60_000_000, "{lengths:?}");
    let first = lengths.iter().position(|length| *length > LONG_NANOS).unwrap();
    let requests = calls.lines().filter(|line| line.ends_with("slow_once::request")).count();
    assert!(requests > first, "{requests} requests in the dump: {lengths:?}");
    let is_slow = first == SLOW;
    assert!(!is_slow || calls.contains("slow_once::read_again"), "{run:?}");
    is_slow
}

#[test]
fn other_conditions_and_processes_that_run_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |condition: &str, rest: &[&str]| {
        let mut record = trace(&["insn", "record", "--snapshot", condition, "-o"]);
        Run::of(record.arg(folder.path().join("dump")).args(rest))
    };
    for wrong in ["alert:slow:stop", "drop", "duration:web/request"] {
        assert_eq!(refused(wrong, &["--", "/bin/true"]).code(), 2, "{wrong}");
    }
    let attached = refused("alert:slow", &["--attach", "1"]);
    assert!(attached.stderr().contains("cannot arm the trace points"), "{attached:?}");
}

/// Starts a recording of a process that the daemon records, too.
fn attach(daemon: &Daemon, directory: &Path, condition: &str, pid: u32) -> Child {
    let mut record = trace(&["insn", "record", "--engine", "block", "--snapshot", condition, "-o"]);
    record.arg(directory).args(["--attach", &pid.to_string()]);
    record.env("TRACE_SOCKET", daemon.path("manager.sock")).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn the_dump_of_an_alert_of_a_program_that_runs_has_its_instructions() {
    let daemon = Daemon::start();
    let program = daemon.program("alert-chatter");
    daemon.wait_for_programs(1);
    let directory = daemon.path("dump");
    let recorder = attach(&daemon, &directory, "alert:flood", program.pid() as u32);
    wait_until("two snapshots are complete", || directory.join("snapshot-3").exists());
    kill_process(Pid::from_child(&recorder), Signal::Int).unwrap();
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 0, "{run:?}");
    // The first one may be of an alert that was raised before the instructions were traced.
    let calls = calls_of(&directory.join("snapshot-2"));
    assert!(calls.contains("subject::alerts::chatter"), "{calls}");
    let stats = Run::of(trace(&["stats", "--instants"]).arg(directory.join("scopes.fxt")));
    assert!(stats.stdout().contains("number"), "{stats:?}");
    assert!(daemon.controller().sessions().unwrap().is_empty(), "the session has ended");
    assert_eq!(daemon.controller().providers().unwrap().len(), 1, "the program continues");
}

/// The daemon's announcement of the snapshot would come too late.
#[test]
fn an_alert_right_before_the_end_of_a_program_that_runs_has_its_dump() {
    let daemon = Daemon::start();
    let mut program = subject(&["alert-on-input"]);
    program.env("TRACE_SOCKET", daemon.path("manager.sock")).stdin(Stdio::piped());
    let mut program = program.spawn().unwrap();
    daemon.wait_for_programs(1);
    let directory = daemon.path("dump");
    let recorder = attach(&daemon, &directory, "alert:slow", program.id());
    wait_until("the program is traced", || {
        let status = format!("/proc/{}/status", program.id());
        let status = std::fs::read_to_string(status).unwrap();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    });
    program.stdin.take().unwrap().write_all(b".").unwrap();
    let run = Run::end_of(recorder);
    program.wait().unwrap();
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("1 snapshot\n"), "{run:?}");
    assert!(calls(&directory).contains("subject::alerts::on_input"), "{run:?}");
}
