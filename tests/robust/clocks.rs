//! Threads that may not read the CPU's counter: after `prctl(PR_SET_TSC)`, and under strict
//! seccomp.
#![cfg(target_arch = "x86_64")]

use std::os::unix::process::ExitStatusExt;

use crate::harness::{subject, Archive, Run};

/// Runs a program in which the threads `which` may not read the counter, with an optional clock.
/// Returns the result, and the archive if there is one.
fn run(which: &str, clock: Option<&str>) -> (Run, Option<Archive>) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let mut program = subject(&["clock", which, "100"]);
    program.env("TRACE_OUTPUT", &output);
    clock.map(|clock| program.env("TRACE_CLOCK", clock));
    let run = Run::of(&mut program);
    let archive = output.exists().then(|| Archive::read(&output));
    (run, archive)
}

#[track_caller]
fn is_recorded(which: &str, clock: Option<&str>) {
    let (run, archive) = run(which, clock);
    assert_eq!(run.code(), 0, "{which}, {clock:?}: {run:?}");
    let archive = archive.expect("an archive");
    assert_eq!(archive.only().numbers("instant"), Vec::from_iter(0..100), "{which}, {clock:?}");
    let ticks: Vec<u64> = archive.only().named("instant").map(|event| event.ticks).collect();
    assert!(ticks[0] > 0 && ticks.is_sorted(), "{which}, {clock:?}: {ticks:?}");
}

#[test]
fn a_program_that_may_not_read_the_counter_gets_another_clock() {
    is_recorded("all", None);
}

#[test]
fn a_clock_for_threads_that_may_not_read_the_counter_can_be_chosen() {
    for clock in ["syscall", "coarse"] {
        is_recorded("all", Some(clock));
        is_recorded("thread", Some(clock));
    }
    is_recorded("strict", Some("coarse"));
}

/// It is not killed for a system call when rolling buffers are full either.
#[test]
fn a_thread_under_strict_seccomp_fills_buffers() {
    for mode in ["streaming", "circular"] {
        let directory = tempfile::tempdir().unwrap();
        let mut program = subject(&["clock", "strict", "100000"]);
        program.env("TRACE_OUTPUT", directory.path().join("out.fxt")).env("TRACE_CLOCK", "coarse");
        program.env("TRACE_BUFFER_SIZE", "256K").env("TRACE_BUFFERING_MODE", mode);
        let run = Run::of(&mut program);
        assert_eq!(run.code(), 0, "{mode}: {run:?}");
    }
}

/// As documented, for threads that forbid the counter without selecting another clock.
#[test]
fn a_thread_that_may_not_read_the_counter_is_ended_by_the_kernel_otherwise() {
    for clock in ["counter", "boottime"] {
        let (run, _) = run("thread", Some(clock));
        assert_eq!(run.0.status.signal(), Some(libc::SIGSEGV), "{clock}: {run:?}");
    }
}

#[test]
fn a_clock_that_is_not_known_is_reported() {
    let (run, archive) = run("all", Some("sundial"));
    assert_eq!(run.code(), 0);
    assert!(run.stderr().contains("TRACE_CLOCK"), "{run:?}");
    assert!(archive.is_some());
}
