//! Forks, threads, signal handlers; and a manager.

use crate::events::{count, events};
use crate::harness::{trace, Run, Session};
use crate::workshop::Workshop;

fn processes(role: &str) -> (Workshop, String, Vec<String>) {
    let workshop = Workshop::new(&["-O1", "-pthread"]);
    let (said, events) = workshop.run(&["processes.c"], &[role]);
    (workshop, said, events)
}

#[test]
fn forked_children_are_processes_of_their_own() {
    let (workshop, child, parent) = processes("fork");
    assert_eq!(parent, ["fork/parent Complete", "fork/after Instant { scope: Some(Thread) }"]);
    let child = events(&workshop.path(format!("trace-{}.fxt", child.trim())));
    assert_eq!(child, ["fork/child Instant { scope: Some(Thread) }"]);
}

#[test]
fn threads_record_everything() {
    let (_, _, events) = processes("threads");
    for thread in 0..4 {
        assert_eq!(count(&events, &format!("threads/scope Complete thread=Int32({thread})")), 1000);
        assert_eq!(
            count(&events, &format!("threads/rounds Counter {{ id: {thread} }} round=Int32(")),
            1000
        );
    }
    assert_eq!(events.len(), 8000);
}

#[test]
fn signal_handlers_record() {
    let (_, _, events) = processes("signals");
    assert_eq!(count(&events, "signals/handler Complete signal=Int32(10)"), 1000);
    assert_eq!(count(&events, "signals/interrupted Complete"), 999);
}

/// Of each record that a handler leaves by a jump, nothing is there. All others are, also those of
/// other threads, whose rolling buffers are handed over.
#[test]
fn a_jump_out_of_a_handler_loses_one_record() {
    let workshop = Workshop::new(&["-O1", "-pthread"]);
    let program = workshop.program("program", &["processes.c"]);
    let session = Session::start("streaming", 1 << 20);
    let mut command = workshop.traced(&program, &["jumps"]);
    let run = Run::of(command.env_remove("TRACE_OUTPUT").env("TRACE_SOCKET", session.socket()));
    assert_eq!(run.code(), 0, "{run:?}");
    let said = run.stdout();
    let (jumped, rounds) = said.trim_end().split_once(' ').unwrap();
    let (jumped, rounds): (u64, u64) = (jumped.parse().unwrap(), rounds.parse().unwrap());
    let (archive, _) = session.end();
    let provider = archive.only();
    let lost = &provider.lost;
    let left = lost.get("signal handler inside a record").copied().unwrap_or(0);
    assert!(0 < left && left <= jumped, "{lost:?} of {jumped} jumps");
    let unsaved = lost.get("buffer not saved in time").copied().unwrap_or(0);
    assert_eq!(provider.lost(), left + unsaved, "{lost:?}");
    let recorded = (provider.count("round") + provider.count("after")) as u64;
    let all = rounds + 20_000;
    // A jump may come between the count of a round and its record, which has not begun then.
    let missing = all - recorded - unsaved;
    assert!(left <= missing && missing <= jumped, "{missing} of {all}: {lost:?}");
}

#[test]
fn no_system_calls_are_made() {
    let (_, _, events) = processes("strict");
    assert_eq!(count(&events, "strict/scope Complete round=Int32("), 1000);
    assert_eq!(count(&events, "strict/instant"), 1000);
}

#[test]
fn a_manager_records_them() {
    let workshop = Workshop::new(&[]);
    let program = workshop.program("program", &["points.cc"]);
    let session = Session::start("streaming", 1 << 20);
    let mut command = workshop.traced(&program, &[]);
    let run = Run::of(command.env_remove("TRACE_OUTPUT").env("TRACE_SOCKET", session.socket()));
    assert_eq!(run.code(), 0, "{run:?}");
    let (archive, summary) = session.end();
    assert_eq!(archive.only().name, "points in C++");
    assert_eq!(archive.only().count("values") + archive.only().count("plain"), 2);
    let alerts: Vec<_> = summary.alerts.into_iter().collect();
    assert_eq!(alerts, [("fourteen bytes".to_owned(), 1)]);
}

#[test]
fn the_command_records_chosen_categories() {
    let workshop = Workshop::new(&[]);
    let program = workshop.program("program", &["points.c"]);
    let output = workshop.path("out.fxt");
    let mut record = trace(&["record", "-c", "values,nobody", "-o"]);
    let run = Run::of(record.arg(&output).arg("--").arg(&program));
    assert_eq!(run.code(), 0, "{run:?}");
    let events = events(&output);
    assert_eq!((events.len(), count(&events, "values/")), (2, 2), "{events:?}");
    assert!(
        run.stderr().contains("nobody") && run.stderr().contains("points"),
        "the known categories are listed: {run:?}"
    );
}

/// Threads are cancelled at cancellation points, and end while the provider is shut down.
#[test]
fn threads_are_cancelled_and_end_during_the_shutdown() {
    let workshop = Workshop::new(&["-O1", "-pthread"]);
    let (_, events) = workshop.run(&["cancelled.c"], &[]);
    let first = events.iter().filter(|event| event.ends_with(" number=Int32(0)"));
    assert_eq!(first.count(), 20, "{events:?}");
    assert_eq!(count(&events, "cancelled/all"), 1);
}
