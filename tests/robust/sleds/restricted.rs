//! Threads that restrict their system calls.

use super::*;

/// The names of the functions that restricted programs call.
const IN_SANDBOX: [&str; 2] = ["--functions", "main::target,main::repeated,*::unwound"];

/// Why recording ends before such a restriction.
const ALL_THREADS: &str = "all threads are restricted, or there may be one only";

/// Such a thread must neither make system calls nor read the processor's counter, nor may its end.
#[test]
fn threads_under_strict_seccomp_are_not_recorded() {
    let recorded = Recorded::new(&IN_SANDBOX, &["strict"]);
    assert_eq!(recorded.output, "90\n90\n");
    assert_eq!(recorded.reasons("thread not recorded"), ["strict seccomp"; 2]);
    assert_calls(&recorded.calls(), &[("main::repeated", 3), ("main::target", 30)]);
}

/// The filter ends the program for any system call but the few that the program itself makes.
#[test]
fn threads_with_a_filter_are_recorded() {
    let recorded = Recorded::new(&IN_SANDBOX, &["filter-thread"]);
    assert_eq!(recorded.output, "90\n90\n90\n90\n");
    let expected = [("main::repeated", 4), ("main::target", 40), ("main::sandboxes::unwound", 2)];
    assert_calls(&recorded.calls(), &expected);
}

#[test]
fn recording_ends_before_all_threads_get_a_filter() {
    let recorded = Recorded::new(&IN_SANDBOX, &["filter-all"]);
    assert_eq!(recorded.output, "90\n1\n90\n");
    assert_eq!(recorded.reasons("recording ended"), [ALL_THREADS]);
    assert_calls(&recorded.calls(), &[("main::repeated", 1), ("main::target", 10)]);
}

/// The threads of the tracer cannot be ended any more, and no thread may read the clock.
#[test]
fn recording_ends_before_a_thread_with_a_filter_gets_no_counter() {
    let recorded = Recorded::new(&IN_SANDBOX, &["no-counter"]);
    assert_eq!(recorded.output, "90\n90\n90\n");
    let reason = "the processor's counter is forbidden";
    assert_eq!(recorded.reasons("recording ended"), [reason]);
    assert_calls(&recorded.calls(), &[("main::repeated", 1), ("main::target", 10)]);
}

/// The child shares the memory of its parent, as one of vfork does.
#[test]
fn a_child_that_restricts_itself_does_not_end_the_recording_of_its_parent() {
    let recorded = Recorded::new(&IN_SANDBOX, &["child"]);
    assert_eq!(recorded.output, "90\n90\n");
    assert_calls(&recorded.calls(), &[("main::repeated", 2), ("main::target", 20)]);
}

/// As before it enters a user namespace. The kernel has forgotten the threads of the tracer.
#[test]
fn recording_ends_before_a_call_for_processes_with_one_thread() {
    let recorded = Recorded::new(&IN_SANDBOX, &["alone"]);
    assert_eq!(recorded.output, output(&["alone"]));
    assert_eq!(recorded.reasons("recording ended"), [ALL_THREADS]);
    assert_calls(&recorded.calls(), &[("main::repeated", 1), ("main::target", 10)]);
}

/// The program could be ended for what a tracer does.
#[test]
fn programs_that_are_executed_with_a_filter_are_not_recorded() {
    let recorded = Recorded::new(&IN_SANDBOX, &["confined", "values"]);
    assert_eq!(recorded.output, format!("90\n{}", output(&["values"])));
    assert_calls(&recorded.calls(), &[("main::repeated", 1), ("main::target", 10)]);
}
