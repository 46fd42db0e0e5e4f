//! `trace stats --slowest` with scheduling records.

use serde_json::{json, Value as Json};
use trace_format::layout::ThreadState;
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, Record, Thread, ThreadKoids,
    ThreadWakeup, Value, Writer,
};

use crate::harness::{Place, Run};

const A: u64 = 7;
const B: u64 = 8;

fn switch(
    ticks: u64,
    outgoing_thread: u64,
    outgoing_state: ThreadState,
    incoming_thread: u64,
) -> Record<'static> {
    let (cpu, arguments) = (0, Arguments::NONE);
    ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }.into()
}

fn wakeup(ticks: u64, arguments: &'static [Argument<'static>]) -> Record<'static> {
    ThreadWakeup { ticks, cpu: 0, thread: A, arguments: arguments.into() }.into()
}

fn event(ticks: u64, thread: u64, name: &'static str, kind: EventKind) -> Record<'static> {
    let thread = Thread::Inline(ThreadKoids::new(1, thread));
    let arguments = Arguments::NONE;
    Event { ticks, thread, category: "cat".into(), name: name.into(), kind, arguments }.into()
}

fn archive(records: &[Record<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    records.iter().for_each(|record| writer.record(record).unwrap());
    writer.into_inner()
}

/// Thread A runs from 50, is blocked from 120 until B wakes it up at 150, waits for its CPU until
/// 160, and loses it to B from 180 to 300.
fn records() -> Vec<Record<'static>> {
    // The records refer to it.
    let by_b: &'static [Argument<'static>] =
        Vec::leak(vec![Argument::new("waker", Value::Koid(B))]);
    let complete = |end| EventKind::DurationComplete { end };
    vec![
        switch(50, B, ThreadState::BLOCKED, A),
        switch(120, A, ThreadState::BLOCKED, 0),
        wakeup(150, by_b),
        switch(160, 0, ThreadState::RUNNING, A),
        switch(180, A, ThreadState::RUNNING, B),
        switch(300, B, ThreadState::BLOCKED, A),
        switch(900, A, ThreadState::BLOCKED, B),
        event(100, A, "blocked", complete(175)),
        event(140, A, "woken", complete(165)),
        event(170, A, "preempted", complete(310)),
        event(400, A, "runs", complete(410)),
        event(60, A, "operation", EventKind::AsyncBegin { id: 1 }),
        event(99, A, "operation", EventKind::AsyncEnd { id: 1 }),
        event(200, 99, "elsewhere", complete(220)),
    ]
}

fn slowest(place: &Place, options: &[&str]) -> Run {
    place.run(&[&["stats", "in.fxt", "--slowest", "9"], options].concat())
}

/// Returns the table of the slowest ones.
fn table(run: &Run) -> &str {
    run.stdout.split_once("slowest\n").expect("a table").1
}

#[test]
fn the_slowest_have_the_states_of_their_threads() {
    let place = Place::new();
    place.put("in.fxt", &archive(&records()));
    let run = slowest(&place, &["-n", "blocked,preempted,runs,elsewhere"]);
    let expected = "\
LENGTH   RUN  RUNNABLE  BLOCKED         BEGIN  NAME           THREAD  LONGEST WAIT                          ARGUMENTS
 140ns  20ns     120ns      0ns  0.000000170s  cat:preempted  1 / 7   120ns preempted, first and last by 8
  75ns  35ns      10ns     30ns  0.000000100s  cat:blocked    1 / 7   30ns blocked until woken up by 8
  20ns     -         -        -  0.000000200s  cat:elsewhere  1 / 99
  10ns  10ns       0ns      0ns  0.000000400s  cat:runs       1 / 7
";
    assert_eq!(table(&run), expected, "{}", run.stdout);
    assert_eq!((run.code, &*run.stderr), (0, ""));
}

#[test]
fn states_are_in_the_json() {
    let place = Place::new();
    place.put("in.fxt", &archive(&records()));
    let run = slowest(&place, &["--json"]);
    let json: Json = serde_json::from_str(&run.stdout).unwrap();
    let states = |name: &str| {
        let found = json.as_array().unwrap().iter().find(|it| it["name"] == name);
        found.unwrap()["states"].clone()
    };
    let by = json!({"process": 0, "thread": B, "thread_name": ""});
    let wait = |length: u64, reason: &str| json!({"length_ns": length, "reason": reason, "by": by});
    let mut preempted = wait(120, "preempted");
    preempted["last_by"] = by.clone();
    let expected = |run: u64, runnable: u64, blocked: u64, wait: Json| {
        json!({
            "run_ns": run, "runnable_ns": runnable, "blocked_ns": blocked, "unknown_ns": 0,
            "has_wakeups": true, "longest_wait": wait,
        })
    };
    assert_eq!(states("blocked"), expected(35, 10, 30, wait(30, "blocked")));
    assert_eq!(states("woken"), expected(5, 10, 10, wait(10, "blocked")));
    assert_eq!(states("preempted"), expected(20, 120, 0, preempted));
    assert_eq!(states("runs"), expected(10, 0, 0, Json::Null));
    assert_eq!((states("operation"), states("elsewhere")), (Json::Null, Json::Null));
}

#[test]
fn operations_have_a_hint_to_their_path() {
    let place = Place::new();
    place.put("in.fxt", &archive(&records()));
    let run = slowest(&place, &["-n", "operation"]);
    assert!(!run.stdout.contains("RUNNABLE"), "{run:?}");
    let hint = "hint: trace critical-path in.fxt --id 0x1 shows the waits\n";
    assert!(run.code == 0 && run.stderr.ends_with(hint), "{run:?}");
    let path = place.run(&["critical-path", "in.fxt", "--id", "0x1"]);
    assert!(path.code == 0 && path.stdout.starts_with("cat:operation id 0x1"), "{path:?}");
    assert_eq!(slowest(&place, &["-n", "operation", "--json"]).stderr, "");
}

/// Threads that are not selected are still the wakers.
#[test]
fn states_of_selected_threads_are_the_same() {
    let place = Place::new();
    place.put("in.fxt", &archive(&records()));
    let all = slowest(&place, &["-n", "blocked"]);
    assert_eq!(slowest(&place, &["-n", "blocked", "-t", "7"]), all);
    assert!(table(&all).contains("  30ns blocked until woken up by 8"), "{all:?}");
}

#[test]
fn an_archive_without_wakeups_has_one_line_about_it() {
    let place = Place::new();
    let mut records = records();
    records.retain(|record| !matches!(record, Record::ThreadWakeup(_)));
    place.put("in.fxt", &archive(&records));
    let run = slowest(&place, &["-n", "blocked"]);
    assert!(table(&run).contains("  40ns blocked or waiting"), "{run:?}");
    let note = "no wake-ups are recorded: BLOCKED includes the wait for a CPU after a wake-up\n";
    assert!(run.stdout.ends_with(note), "{run:?}");
    let runs = slowest(&place, &["-n", "elsewhere"]);
    assert!(!runs.stdout.contains("wake-ups"), "{runs:?}");
}

#[test]
fn durations_outside_of_the_scheduling_records_are_reported() {
    let place = Place::new();
    let mut records = records();
    records.push(event(850, A, "late", EventKind::DurationComplete { end: 1000 }));
    place.put("in.fxt", &archive(&records));
    let run = slowest(&place, &["-n", "late"]);
    assert!(table(&run).contains("\n 150ns  50ns       0ns      0ns  "), "{run:?}");
    let note =
        "trace: in.fxt: durations partly outside of their thread's scheduling records, RUN, \
                RUNNABLE and BLOCKED are those within: 1\n";
    assert_eq!((run.code, &*run.stderr), (0, note));
}
