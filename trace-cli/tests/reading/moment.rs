//! `trace stats --at` with scheduling records.

use serde_json::json;
use trace_format::layout::{InstantScope, ThreadState};
use trace_format::{Argument, ContextSwitch, Event, EventKind, Thread, ThreadKoids, Value, Writer};

use crate::harness::{good, Place, Run};
use crate::kernel::SCHEDULE;

#[test]
fn states_of_threads_at_a_time() {
    let place = Place::new();
    place.put("sched.txt", format!("# tracer: nop\n{SCHEDULE}").as_bytes());
    let run = place.run(&["stats", "sched.txt", "--at", "5.5ms"]);
    let stdout =
        "threads\n       SINCE         UNTIL  STATE    NEXT WAKE-UP                  THREAD\n\
                  0.005000000s  0.006000000s  blocked  0.006000000s by an interrupt  a (7)\n\
                  0.004000000s                blocked                                b (8)\n";
    assert_eq!(run, Run { code: 0, stdout: stdout.to_owned(), stderr: String::new() });
    let clock = place.run(&["stats", "sched.txt", "--at", "@10.0055s", "--limit", "1"]);
    let stdout =
        "threads\n        SINCE          UNTIL  STATE    NEXT WAKE-UP                   THREAD\n\
                  10.005000000s  10.006000000s  blocked  10.006000000s by an interrupt  a (7)\n";
    let stderr = "trace: not shown: 1 thread\nhint: --limit 2 shows them\n".to_owned();
    assert_eq!(clock, Run { code: 0, stdout: stdout.to_owned(), stderr });
    let switches: Vec<_> = SCHEDULE.lines().filter(|line| !line.contains("waking")).collect();
    place.put("switches.txt", format!("# tracer: nop\n{}\n", switches.join("\n")).as_bytes());
    let run = place.run(&["stats", "switches.txt", "--at", "5.5ms"]);
    let note = "NEXT WAKE-UP is empty, and a blocked thread may wait for a CPU\n";
    assert!(run.stdout.ends_with(note) && run.stdout.matches(note).count() == 1, "{run:?}");
    assert_eq!(run.stdout.matches("  blocked or waiting  ").count(), 2, "{run:?}");
    let json = place.run(&["stats", "sched.txt", "--at", "2ms", "--json", "-t", "a"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["time_ns"], &json["instances"]), (&10_002_000_000_u64.into(), &json!([])));
    let thread = json!([{
        "process": 0, "process_name": "", "thread": 7, "thread_name": "a",
        "state": "runnable", "reason": "preempted", "cpu": null,
        "by": {"process": 0, "process_name": "", "thread": 8, "thread_name": "b"},
        "since_ns": 10_001_000_000_u64, "until_ns": 10_004_000_000_u64,
        "next_wakeup": {
            "time_ns": 10_006_000_000_u64, "by": null, "interrupt": "hard", "interrupted": null
        },
    }]);
    assert_eq!(json["threads"], thread);
    // The CPU of 8 handled an interrupt.
    let wakeups = |flags: &str| {
        let start = "<idle>-0     [000] d.h3.   10.006000";
        assert!(SCHEDULE.contains(start));
        let text = SCHEDULE.replace(start, &format!("b-8 [000] {flags} 10.006000"));
        place.put("sched.txt", format!("# tracer: nop\n{text}").as_bytes());
        let run = place.run(&["stats", "sched.txt", "--at", "5.5ms", "-t", "a"]);
        let json = place.run(&["stats", "sched.txt", "--at", "5.5ms", "-t", "a", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        (run.stdout, json["threads"][0]["next_wakeup"].clone())
    };
    let b = json!({"process": 0, "process_name": "", "thread": 8, "thread_name": "b"});
    let (text, json) = wakeups("....");
    assert!(text.contains("0.006000000s by b (8)"), "{text}");
    assert_eq!(json, json!({"time_ns": 10_006_000_000_u64, "by": b}));
    let (text, json) = wakeups("d.h.");
    assert!(text.contains("0.006000000s by an interrupt  a (7)"), "{text}");
    let interrupt = |kind| json!({"time_ns": 10_006_000_000_u64, "by": null, "interrupt": kind, "interrupted": b});
    assert_eq!(json, interrupt("hard"));
    let (text, json) = wakeups("..s.");
    assert!(text.contains("0.006000000s by a soft interrupt in b (8)  a (7)"), "{text}");
    assert_eq!(json, interrupt("soft"));
    place.put("sched.txt", format!("# tracer: nop\n{SCHEDULE}").as_bytes());
    let run = place.run(&["stats", "sched.txt", "--at", "8.5ms", "-t", "a"]);
    assert_eq!(run.stdout, "no such events\n", "it has ended");
    assert!(run.stderr.contains("do not show the state"), "{run:?}");
}

/// A snapshot lasts until it was taken, even if nothing happened then.
#[test]
fn a_recording_lasts_until_its_last_clock_anchor() {
    let place = Place::new();
    let clocks = ["realtime_ns", "monotonic_ns", "boottime_ns"];
    let clocks = clocks.map(|name| Argument::new(name, Value::Uint64(1)));
    let event = |ticks, (category, name): (&'static str, &'static str), scope| Event {
        ticks,
        thread: Thread::Inline(ThreadKoids::new(7, 7)),
        category: category.into(),
        name: name.into(),
        kind: EventKind::Instant { scope: Some(scope) },
        arguments: (&clocks).into(),
    };
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "kernel").unwrap();
    writer.record(&event(1, ("app", "starts"), InstantScope::Thread).into()).unwrap();
    writer.record(&event(2, ("app", "sleeps"), InstantScope::Thread).into()).unwrap();
    let (ticks, cpu, arguments) = (2, 0, [][..].into());
    let (outgoing_state, outgoing_thread, incoming_thread) = (ThreadState::BLOCKED, 7, 8);
    let switch =
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments };
    writer.record(&switch.into()).unwrap();
    for ticks in [0, 1501] {
        let anchor = event(ticks, ("trace", "clock anchor"), InstantScope::Global);
        writer.record(&anchor.into()).unwrap();
    }
    place.put("in.fxt", &writer.into_inner());
    let info = place.run(&["info", "in.fxt"]).stdout;
    let head = "events from 0.000000001s, for 1ns, recorded until 1.500µs after the first one\n";
    assert!(info.starts_with(head), "{info}");
    let run = place.run(&["stats", "in.fxt", "--at", "1us"]);
    assert!(run.stdout.contains("blocked") && run.stderr.is_empty(), "{run:?}");
    let run = place.run(&["stats", "in.fxt", "--at", "1501ns"]);
    assert!(run.stderr.contains("--at is outside of the trace"), "{run:?}");
    assert!(run.stderr.contains("and the trace is 1.500µs long"), "{run:?}");
}

#[test]
fn states_at_a_time_require_scheduling_records() {
    let place = Place::new();
    place.put("good.fxt", &good());
    let stats =
        |thread: &[&str]| place.run(&[&["stats", "good.fxt", "--at", "0s"], thread].concat());
    assert!(stats(&["-t", "34"]).stderr.contains("hint: record with --sched"));
    assert_eq!(stats(&[]).stderr, "");
}
