//! `trace insn record --snapshot`: the instructions before an alert, or before a scope is too long.

use std::path::Path;

use crate::harness::programs::example_path;
use crate::harness::{subject_path, trace, Archive, Run};
use crate::instruction_scopes::scopes;

/// The index of the request that sleeps.
const SLOW: usize = 3;

/// Records a program that waits for the dump. Returns the output.
fn record(directory: &Path, condition: &str) -> Run {
    let mut record = trace(&["insn", "record", "--engine", "block", "--snapshot", condition]);
    // On a slow machine, the program waits for long, in instructions that are recorded.
    record.args(["--ring", "65536", "-o"]).arg(directory).arg("--").arg(example_path("slow_once"));
    Run::of(record.arg(directory.join("snapshot-1")))
}

/// Returns the calls of the dump.
fn calls(directory: &Path) -> String {
    let printed = Run::of(trace(&["insn", "print"]).arg(directory.join("snapshot-1")));
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
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("dump");
    let run = record(&directory, "duration:web/request>50ms");
    assert_eq!(run.code(), 0, "{run:?}");
    let calls = calls(&directory);
    assert!(calls.contains("slow_once::request"), "{run:?}");
    assert!(!calls.contains("slow_once::finish"), "{run:?}");
    let lengths = lengths(&directory);
    assert_eq!(lengths.len(), 5);
    assert!(lengths[SLOW] >= 60_000_000, "{lengths:?}");
    // Of several requests that are too long, which a slow machine has, the dump is of the first.
    if lengths[..SLOW].iter().all(|length| *length < 50_000_000) {
        assert!(calls.contains("slow_once::read_again"), "{run:?}");
    } else {
        eprintln!("skipped: requests were slow on this machine: {lengths:?} ns");
    }
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
    assert!(attached.stderr().contains("alert: and duration: require COMMAND"), "{attached:?}");
}
