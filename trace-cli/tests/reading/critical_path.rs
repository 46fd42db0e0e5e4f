//! `trace critical-path`

use serde_json::json;
use trace_format::layout::ThreadState;
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, Thread, ThreadKoids, ThreadWakeup, Value,
    Writer,
};

use crate::harness::{events, good, Place, Run};

fn archive() -> Vec<u8> {
    use EventKind::*;
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for (ticks, name, kind) in [
        (1000, "read", AsyncBegin { id: 42 }),
        (2000, "send", DurationComplete { end: 2500 }),
        (2000, "job", FlowBegin { id: 3 }),
        (4000, "job", FlowEnd { id: 3 }),
        (9000, "read", AsyncEnd { id: 42 }),
    ] {
        let event = Event {
            ticks,
            thread: Thread::Inline(ThreadKoids::new(1, 2)),
            category: "cat".into(),
            name: name.into(),
            kind,
            arguments: Arguments::NONE,
        };
        writer.record(&event.into()).unwrap();
    }
    writer.into_inner()
}

/// The line about unknown reasons without scheduling records, after the time.
const UNKNOWN: &str = "record with --sched to see which threads end the waits, or trace what it \
                       waits for: a future, a span, or a flow from the thread that ends the wait";

#[test]
fn the_slowest_operation_and_flow() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let run = place.run(&["critical-path", "in.fxt"]);
    let stdout =
        "cat:read id 0x2a, process 1, at 0.000001000s: 8.000µs = 0ns running + 8.000µs waiting\n\
                  AFTER     TIME   SHARE  WHAT\n\
                  \x20 0ns  8.000µs  100.0%  cat:read waits for an unknown reason\n";
    let stdout = format!("{stdout}unknown: 8.000µs; {UNKNOWN}\n");
    assert_eq!(run, Run { code: 0, stdout, stderr: String::new() });
    let run = place.run(&["critical-path", "in.fxt", "--flow"]);
    assert!(run.stdout.contains("500ns  25.0%  cat:send runs on thread 1/2\n"), "{run:?}");
    let run = place.run(&["critical-path", "in.fxt", "--id", "0x2a", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&json["name"], &json["path"][0]["to_ns"]), (&"read".into(), &9000.into()));
}

#[test]
fn unfinished_operations_are_reported() {
    let place = Place::new();
    for (kind, what, arguments) in [
        (EventKind::AsyncBegin { id: 1 }, "async operations", &["critical-path", "in.fxt"][..]),
        (EventKind::FlowBegin { id: 1 }, "flows", &["critical-path", "in.fxt", "--flow"]),
    ] {
        place.put("in.fxt", &events(1, |_| kind));
        let run = place.run(arguments);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains(&format!("{what} without an end, skipped: 1")), "{run:?}");
    }
}

#[test]
fn errors_are_reported() {
    let place = Place::new();
    place.put("in.fxt", &good());
    place.put("text", b"no archive at all");
    let failed = |arguments: &[&str], part: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains(part), "{run:?}");
    };
    failed(&["critical-path", "in.fxt"], "no complete async operation");
    failed(&["critical-path", "in.fxt", "--flow"], "no complete flow");
    failed(&["critical-path", "text"], "cannot read text: not a trace archive");
    failed(&["critical-path", "-"], "cannot read -: not a trace archive");
    failed(&["critical-path", "."], "cannot read .: is a directory");
    failed(&["critical-path", "missing"], "cannot open missing");
}

/// A request for the wrong kind gets a hint on the other kinds.
#[test]
fn other_kinds_are_hinted() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    place.put("good.fxt", &good());
    let no = |what: &str| format!("trace: in.fxt has no {what}\n");
    let misspelt = "trace: no event of category 'cot'\nhint: the categories are cat\n".to_owned();
    for (line, stderr) in [
        (&["-n", "job"][..], no("complete selected async operation\nhint: it has 1 flow (--flow)")),
        (
            &["-n", "send"],
            no("complete selected async operation\n\
                hint: it has 1 duration (trace stats --slowest 5 -n send)"),
        ),
        (
            &["-n", "read", "--flow"],
            no("complete selected flow\nhint: it has 1 async operation (without --flow)"),
        ),
        (&["--id", "7"], no("complete selected async operation")),
        (&["-c", "cot"], misspelt),
    ] {
        let run = place.run(&[&["critical-path", "in.fxt"], line].concat());
        assert_eq!((run.code, run.stderr), (1, stderr), "{line:?}");
    }
    let said = "trace: good.fxt has no complete async operation\n\
                hint: it has 1 duration (trace stats --slowest 5)\n";
    assert_eq!(place.run(&["critical-path", "good.fxt"]).stderr, said);
}

/// Two requests with an argument each; the slower one has a query.
fn requests() -> Vec<u8> {
    use EventKind::*;
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    let text =
        |key: &'static str, value: &'static str| Argument::new(key, Value::String(value.into()));
    let (shop, cart) = ([text("path", "/shop")], [text("path", "/cart")]);
    let query = [text("sql", "select"), Argument::new("parent", Value::Uint64(42))];
    for (ticks, name, kind, arguments) in [
        (1000, "request", AsyncBegin { id: 42 }, &shop[..]),
        (2000, "query", AsyncBegin { id: 43 }, &query[..]),
        (8000, "query", AsyncEnd { id: 43 }, &[]),
        (9000, "request", AsyncEnd { id: 42 }, &[]),
        (9000, "request", AsyncBegin { id: 44 }, &cart[..]),
        (9500, "request", AsyncEnd { id: 44 }, &[]),
    ] {
        let thread = Thread::Inline(ThreadKoids::new(1, 2));
        let (category, name, arguments) = ("cat".into(), name.into(), arguments.into());
        writer.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    writer.into_inner()
}

#[test]
fn operations_have_their_ids_and_arguments() {
    let place = Place::new();
    place.put("in.fxt", &requests());
    let run = place.run(&["critical-path", "in.fxt"]);
    let stdout =
        "cat:request id 0x2a, process 1, at 0.000001000s: 8.000µs = 0ns running + 8.000µs waiting\n\
        \x20 AFTER     TIME  SHARE  WHAT\n\
        \x20   0ns  1.000µs  12.5%  cat:request waits for an unknown reason\n\
        1.000µs  6.000µs  75.0%    cat:query id 0x2b waits for an unknown reason\n\
        7.000µs  1.000µs  12.5%  cat:request waits to end\n\
        {unknown}\n\
        \n\
        OPERATION            ARGUMENTS\n\
        cat:request id 0x2a  path=\"/shop\"\n\
        \x20 cat:query id 0x2b  sql=\"select\" parent=0x2a\n";
    let stdout = stdout.replace("{unknown}", &format!("unknown: 7.000µs; {UNKNOWN}"));
    assert_eq!(run, Run { code: 0, stdout, stderr: String::new() });
    let run = place.run(&["critical-path", "in.fxt", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["path"][1]["id"], 43);
    assert_eq!(json["path"][2]["wait"], json!({ "reason": "end", "by": null }));
    assert_eq!(json["operations"][1]["arguments"]["sql"], "select");
}

/// The handler waits for its query all the time, so only the query has a segment.
#[test]
fn operations_without_a_segment_are_listed() {
    use EventKind::*;
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    let number = |key: &'static str, value| Argument::new(key, Value::Uint64(value));
    let (route, handler) = ([number("parent", 1)], [number("parent", 2), number("item", 133)]);
    let query = [number("parent", 3)];
    for (ticks, name, kind, arguments) in [
        (1000, "request", AsyncBegin { id: 1 }, &[][..]),
        (2000, "route", AsyncBegin { id: 2 }, &route),
        (2000, "handler", AsyncBegin { id: 3 }, &handler),
        (2000, "query", AsyncBegin { id: 4 }, &query),
        (9000, "query", AsyncEnd { id: 4 }, &[]),
        (9000, "handler", AsyncEnd { id: 3 }, &[]),
        (9000, "route", AsyncEnd { id: 2 }, &[]),
        (9500, "request", AsyncEnd { id: 1 }, &[]),
    ] {
        let thread = Thread::Inline(ThreadKoids::new(1, 2));
        let (category, name, arguments) = ("cat".into(), name.into(), arguments.into());
        writer.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    let place = Place::new();
    place.put("in.fxt", &writer.into_inner());
    let run = place.run(&["critical-path", "in.fxt", "-n", "request"]);
    let operations = "\
        \x20 cat:route id 0x2      parent=0x1\n\
        \x20   cat:handler id 0x3  parent=0x2 item=133\n\
        \x20     cat:query id 0x4  parent=0x3\n";
    assert!(run.code == 0 && run.stdout.ends_with(operations), "{run:?}");
    let json = place.run(&["critical-path", "in.fxt", "-n", "request", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let names: Vec<_> =
        json["operations"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["request", "route", "handler", "query"]);
}

#[test]
fn arguments_select_an_operation() {
    let place = Place::new();
    place.put("in.fxt", &requests());
    let run = place.run(&["critical-path", "in.fxt", "--arg", "path=/cart"]);
    assert!(run.stdout.starts_with("cat:request id 0x2c, "), "{run:?}");
    let run = place.run(&["critical-path", "in.fxt", "--arg", "path=/basket"]);
    let stderr = "trace: in.fxt has no complete selected async operation\n";
    assert_eq!((run.code, &*run.stderr), (1, stderr));
    let run = place.run(&["critical-path", "in.fxt", "--arg", "path"]);
    assert!(run.code == 2 && run.stderr.contains("use KEY=VALUE"), "{run:?}");
}

/// The thread of a request is preempted, first by 8, and then blocked until 9 wakes it up.
#[test]
fn reasons_of_waits_that_scheduling_records_show() {
    use EventKind::*;
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    let task = [Argument::new("task", Value::Uint64(42))];
    for (ticks, kind, arguments) in [
        (1000, AsyncBegin { id: 42 }, &[][..]),
        (1000, DurationComplete { end: 9000 }, &task),
        (9000, AsyncEnd { id: 42 }, &[]),
    ] {
        let (thread, arguments) = (Thread::Inline(ThreadKoids::new(1, 2)), arguments.into());
        let (category, name) = ("cat".into(), "request".into());
        writer.record(&Event { ticks, thread, category, name, kind, arguments }.into()).unwrap();
    }
    let (running, blocked) = (ThreadState::RUNNING, ThreadState::BLOCKED);
    for (ticks, (outgoing_thread, outgoing_state), incoming_thread) in [
        (500, (0, running), 2),
        (2000, (2, running), 8),
        (3000, (8, blocked), 2),
        (4000, (2, blocked), 0),
        (7000, (0, running), 2),
        (9500, (2, blocked), 0),
    ] {
        let (cpu, arguments) = (0, Arguments::NONE);
        let switch = ContextSwitch {
            ticks,
            cpu,
            outgoing_state,
            outgoing_thread,
            incoming_thread,
            arguments,
        };
        writer.record(&switch.into()).unwrap();
    }
    let waker = [Argument::new("waker", Value::Koid(9))];
    let wakeup = ThreadWakeup { ticks: 6500, cpu: 0, thread: 2, arguments: (&waker).into() };
    writer.record(&wakeup.into()).unwrap();
    let place = Place::new();
    place.put("in.fxt", &writer.into_inner());
    let run = place.run(&["critical-path", "in.fxt"]);
    let stdout = "cat:request id 0x2a, process 1, at 0.000001000s: \
                  8.000µs = 4.000µs running + 1.000µs preempted + 3.000µs waiting\n";
    let table = "  AFTER     TIME  SHARE  WHAT\n    \
                 0ns  1.000µs  12.5%  cat:request runs on thread 1/2\n\
                 1.000µs  1.000µs  12.5%  cat:request is preempted, first and last by 8\n\
                 2.000µs  1.000µs  12.5%  cat:request runs on thread 1/2\n\
                 3.000µs  2.500µs  31.2%  cat:request is blocked on thread 1/2 until woken up by 9\n\
                 5.500µs    500ns   6.2%  cat:request waits for a processor, woken up by 9\n\
                 6.000µs  2.000µs  25.0%  cat:request runs on thread 1/2\n";
    assert!(run.stdout.starts_with(&(stdout.to_owned() + table)), "{}", run.stdout);
    assert_eq!((run.code, &*run.stderr), (0, ""));
}
