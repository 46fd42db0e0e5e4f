//! Other programs that change the instance of a recording.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::harness::{trace, Run};
use super::helper::{instances, start};
use super::{can_trace, TRACEFS};

/// The time of some looks at the instance.
const LOOKS: Duration = Duration::from_millis(2500);

/// Replaces the contents of a file of the instance while it records for this time. Asserts that the
/// recorder and the archive report it.
fn assert_reported((file, text): (&str, &str), time: Duration, reported: &str) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let (recorder, helper) = start(&output, &["--strict", "--sched"]);
    let instance = &instances(helper)[0];
    fs::write(Path::new(TRACEFS).join("instances").join(instance).join(file), text).unwrap();
    sleep(time);
    let run = Run::end_of(recorder);
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains(reported), "{run:?}");
    let run = Run::of(trace(&["check"]).arg(&output));
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stdout().contains("sources failed"), "{run:?}");
}

#[test]
fn tracing_that_another_program_turns_off_is_reported() {
    if can_trace() {
        let reported = "another program turned tracing off";
        assert_reported(("tracing_on", "0"), Duration::ZERO, reported);
    }
}

#[test]
fn events_that_another_program_disables_are_reported() {
    if can_trace() {
        let reported = "another program disabled the event";
        assert_reported(("set_event", ""), Duration::ZERO, reported);
    }
}

#[test]
fn a_clock_that_another_program_changes_is_reported() {
    if can_trace() {
        let reported = "another program changed the clock to counter";
        assert_reported(("trace_clock", "counter"), Duration::ZERO, reported);
    }
}

#[test]
fn threads_that_another_program_removes_are_reported() {
    if can_trace() {
        let reported = "list of recorded threads lacks thread";
        assert_reported(("set_event_pid", "1"), LOOKS, reported);
    }
}
