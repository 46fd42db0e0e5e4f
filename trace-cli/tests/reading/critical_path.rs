//! `trace critical-path`

use trace_format::{Arguments, Event, EventKind, Thread, ThreadKoids, Writer};

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

#[test]
fn the_slowest_operation_and_flow() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let run = place.run(&["critical-path", "in.fxt"]);
    let stdout =
        "cat:read id 0x2a, process 1, at 0.000001000s: 8.000µs = 0ns running + 8.000µs waiting\n\
                  AFTER     TIME   SHARE  WHAT\n\
                  \x20 0ns  8.000µs  100.0%  cat:read waits\n";
    assert_eq!(run, Run { code: 0, stdout: stdout.to_owned(), stderr: String::new() });
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
            no("complete selected async operation\nhint: it has 1 duration (trace stats)"),
        ),
        (
            &["-n", "read", "--flow"],
            no("complete selected flow\nhint: it has 1 async operation (without --flow)"),
        ),
        (&["--id", "7"], no("complete selected async operation")),
        (&["-c", "cot"], misspelt + &no("complete selected async operation")),
    ] {
        let run = place.run(&[&["critical-path", "in.fxt"], line].concat());
        assert_eq!((run.code, run.stderr), (1, stderr), "{line:?}");
    }
    let said = "trace: good.fxt has no complete async operation\n\
                hint: it has 1 duration (trace stats)\n";
    assert_eq!(place.run(&["critical-path", "good.fxt"]).stderr, said);
}
