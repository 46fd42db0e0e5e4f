//! Operations and messages of async programs: in `trace stats`, `dump` and `slice`.

use trace_format::layout::InstantScope;
use trace_format::{
    Argument, Event, EventKind, Log, Reader, Record, Thread, ThreadKoids, Value, Writer,
};

use crate::harness::Place;

const THREAD: Thread = Thread::Inline(ThreadKoids::new(1, 2));

/// A request with a query, and messages of two levels, as the bridge of `tracing` writes them.
fn archive() -> Vec<u8> {
    use EventKind::*;
    let text = |key, value: &'static str| Argument::new(key, Value::String(value.into()));
    let number = |key, value| Argument::new(key, Value::Uint64(value));
    let poll = [number("task", 7), number("poll-count", 2)];
    let first = [number("poll-count", 1)];
    let dropped = [text("poll-state", "dropped")];
    let instant = Instant { scope: Some(InstantScope::Thread) };
    let records: [(u64, &str, EventKind, &[Argument<'_>]); 12] = [
        (1000, "request", DurationComplete { end: 1100 }, &[]),
        (900, "request", AsyncBegin { id: 7 }, &[text("url", "/a")]),
        (1000, "request", AsyncInstant { id: 7 }, &first),
        (1050, "query", AsyncBegin { id: 8 }, &[number("parent", 7)]),
        (1500, "query", AsyncEnd { id: 8 }, &[]),
        (1600, "request", DurationComplete { end: 1700 }, &poll),
        (1650, "src/main.rs:7", instant, &[text("message", "slow"), text("level", "WARN")]),
        (1660, "src/main.rs:8", instant, &[text("message", "done"), text("level", "INFO")]),
        (1800, "request", DurationComplete { end: 1801 }, &poll),
        (1800, "request", AsyncInstant { id: 7 }, &dropped),
        (1900, "request", AsyncEnd { id: 7 }, &[]),
        (5000, "later", instant, &[]),
    ];
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for (ticks, name, kind, arguments) in records {
        let (category, name) = ("app".into(), name.into());
        let arguments = arguments.into();
        let event = Event { ticks, thread: THREAD, category, name, kind, arguments };
        writer.record(&event.into()).unwrap();
    }
    for message in [&b"WARN app: a log record"[..], b"INFO app: another one"] {
        writer.record(&Record::Log(Log { ticks: 5500, thread: THREAD, message })).unwrap();
    }
    writer.into_inner()
}

fn run(arguments: &[&str]) -> String {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let run = place.run(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    run.stdout
}

/// A slice of an operation has its children, and the events in its polls.
#[test]
fn a_slice_of_an_operation() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let slice = place.run(&["slice", "in.fxt", "--id", "7", "-o", "out.fxt"]);
    assert_eq!(
        (slice.code, slice.stderr.as_str()),
        (0, "trace: 11 of 12 events kept, and 0 of 2 other records\n")
    );
    let dump = place.run(&["dump", "out.fxt"]).stdout;
    for (text, is_kept) in [
        ("\"query\"", true),
        ("\"slow\"", true),
        ("\"done\"", true),
        ("later", false),
        ("log record", false),
    ] {
        assert_eq!(dump.contains(text), is_kept, "{text}: {dump}");
    }
    assert_eq!(counts(&place.run(&["stats", "out.fxt"]).stdout).len(), 4, "{dump}");
    let child = place.run(&["slice", "in.fxt", "--id", "0x8", "-o", "out.fxt"]);
    assert_eq!(child.stderr, "trace: 2 of 12 events kept, and 0 of 2 other records\n");
    let absent = place.run(&["slice", "in.fxt", "--id", "9", "-o", "new.fxt"]);
    let expected = "trace: in.fxt has no async operation with the id 0x9\n";
    assert_eq!((absent.code, absent.stderr.as_str()), (1, expected));
}

#[test]
fn a_slice_around_an_operation() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let slice = |options: &[&str]| {
        let run = place.run(&[&["slice", "in.fxt", "-o", "out.fxt"], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
        let dump = place.run(&["dump", "out.fxt"]).stdout;
        ["\"query\"", "\"slow\"", "later", "a log record"].map(|text| dump.contains(text))
    };
    // The request lasts from 900 to 1900, its query from 1050 to 1500.
    assert_eq!(slice(&["--id", "7", "--around", "3100ns"]), [true, true, true, false]);
    assert_eq!(slice(&["--id", "7", "--around", "3099ns"]), [true, true, false, false]);
    assert_eq!(slice(&["--id", "7", "--around", "1h"]), [true; 4]);
    assert_eq!(slice(&["--id", "8", "--around", "149ns"]), [true, false, false, false]);
    assert_eq!(slice(&["--id", "8", "--around", "150ns"]), [true, true, false, false]);
    let run = place.run(&["slice", "in.fxt", "--around", "1ms", "-o", "out.fxt"]);
    assert_eq!(run.code, 2, "{run:?}");
}

#[test]
fn stats_selects_by_an_argument() {
    let only = |options: &[&str]| run(&[&["stats", "in.fxt", "--arg"], options].concat());
    let expected =
        [("2", "app:request (polls)"), ("1", "app:request (drops)"), ("1", "app:request")];
    assert_eq!(counts(&only(&["url=/a"])), expected);
    let piped = Place::new().run_with(&["stats", "-", "--arg", "url=/a"], &archive());
    assert_eq!((piped.code, counts(&piped.stdout)), (0, expected.to_vec()), "{piped:?}");
    assert_eq!(only(&["url=/*"]), only(&["url=/a"]));
    assert_eq!(only(&["url=/b"]), "no such events\n");
    assert!(only(&["level=WARN", "--instants"]).ends_with("1  app:src/main.rs:7\n"));
    let slowest = only(&["url=/a", "--slowest", "9"]);
    let (sums, slowest) = slowest.split_once("slowest\n").unwrap();
    assert_eq!(counts(sums), expected);
    // The operation, two polls and the drop.
    assert_eq!(slowest.lines().count(), 1 + 4, "{slowest}");
    assert!(slowest.contains("app:request id 0x7"), "{slowest}");
    let place = Place::new();
    let run = place.run(&["stats", "in.fxt", "--arg", "url=/a", "--by", "arg:url"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn diff_compares_operations_and_their_polls_separately() {
    let table = run(&["diff", "in.fxt", "in.fxt", "--all"]);
    let names: Vec<_> = table.lines().filter_map(|line| line.split("  ").last()).collect();
    for name in ["app:request (async)", "app:request (polls)", "app:query (async)"] {
        assert_eq!(names.iter().filter(|found| **found == name).count(), 1, "{table}");
    }
    let json = run(&["diff", "in.fxt", "in.fxt", "--json"]);
    assert!(json.contains(r#""kind": "poll""#), "{json}");
}

/// Returns the numbers of durations and operations, with their names.
fn counts(table: &str) -> Vec<(&str, &str)> {
    let rows = table.lines().filter(|line| line.starts_with(' '));
    let rows = rows.map(|line| (line.split_whitespace().next().unwrap(), line));
    rows.map(|(count, line)| (count, &line[line.find("app:").unwrap()..])).collect()
}

#[test]
fn an_operation_is_counted_once_and_its_polls_separately() {
    let expected = [
        ("2", "app:request (polls)"),
        ("1", "app:request (drops)"),
        ("1", "app:request"),
        ("1", "app:query"),
    ];
    assert_eq!(counts(&run(&["stats", "in.fxt"])), expected);
    let csv = run(&["stats", "in.fxt", "--csv"]);
    assert!(
        csv.contains("\npoll,app,request,2,") && csv.contains("\ndrop,app,request,1,"),
        "{csv}"
    );
}

/// The query has no url, but its parent has one.
#[test]
fn rows_by_an_argument_of_the_operation_around() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let by_url = |options: &[&str]| {
        let run = place.run(&[&["stats", "in.fxt", "-n", "query"], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
        (run.stdout, run.stderr)
    };
    let (table, message) = by_url(&["--by", "arg:url"]);
    assert!(table.contains("app:query  (none)\n"), "{table}");
    let hint = "hint: --inherit uses that of the durations and operations around them\n";
    assert_eq!(message, format!("trace: no event of these rows has the argument 'url'\n{hint}"));
    let (table, message) = by_url(&["--by", "arg:url", "--inherit"]);
    assert!(table.contains("app:query  /a\n"), "{table}");
    let inherited = "events with the value of a duration or operation around them";
    assert_eq!(message, format!("trace: in.fxt: {inherited}: 1\n"));
    let wrong = place.run(&["stats", "in.fxt", "--by", "thread", "--inherit"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("hint: use it with --by arg:KEY"),
        "{wrong:?}"
    );
}

#[test]
fn inheritance_without_an_argument_is_refused() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let all: [&[&str]; 18] = [
        &[],
        &["--by", "parent"],
        &["--slowest", "3"],
        &["--at", "50%"],
        &["--sched"],
        &["--arg", "url=/a"],
        &["--over", "1us"],
        &["--flows"],
        &["--counters"],
        &["--instants"],
        &["--rate"],
        &["--json"],
        &["--csv"],
        &["--limit", "1"],
        &["--sort", "name"],
        &["-c", "app"],
        &["-n", "query"],
        &["-t", "2"],
    ];
    for options in all {
        let run = place.run(&[&["stats", "in.fxt", "--inherit"], options].concat());
        assert_eq!((run.code, &*run.stdout), (2, ""), "{options:?}: {run:?}");
        let hint = "trace: --inherit has no argument to inherit\nhint: use it with --by arg:KEY\n";
        assert_eq!(run.stderr, hint, "{options:?}");
    }
    for options in [&["--slowest", "3"][..], &["--at", "50%"], &["--sched"], &["--arg", "url=/a"]] {
        let by = ["stats", "in.fxt", "--by", "arg:url", "--inherit"];
        let run = place.run(&[&by, options].concat());
        let is_refused = run.code == 2 && run.stderr.contains("cannot be used with");
        assert!(is_refused, "{options:?}: {run:?}");
    }
}

/// An operation begins on one thread, and another thread polls it.
#[test]
fn polls_of_selected_threads_have_the_arguments_of_their_operation() {
    let other = Thread::Inline(ThreadKoids::new(1, 3));
    let url = [Argument::new("url", Value::String("/a".into()))];
    let number = |key, value| Argument::new(key, Value::Uint64(value));
    let id = [number("task", 7), number("poll-count", 1)];
    let mut writer = Writer::new(Vec::new()).unwrap();
    let complete = |end| EventKind::DurationComplete { end };
    let records: [(Thread, u64, &str, EventKind, &[Argument<'_>]); 4] = [
        (THREAD, 10, "request", EventKind::AsyncBegin { id: 7 }, &url),
        (other, 20, "request", complete(90), &id),
        (other, 30, "decode", complete(40), &[]),
        (THREAD, 95, "request", EventKind::AsyncEnd { id: 7 }, &[]),
    ];
    for (thread, ticks, name, kind, arguments) in records {
        let (category, name) = ("app".into(), name.into());
        let arguments = arguments.into();
        let event = Event { ticks, thread, category, name, kind, arguments };
        writer.record(&event.into()).unwrap();
    }
    let place = Place::new();
    place.put("in.fxt", &writer.into_inner());
    let of_thread = |options: &[&str]| {
        let run = place.run(&[&["stats", "in.fxt", "-t", "3"], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout
    };
    let by_url = of_thread(&["--by", "arg:url"]);
    assert!(by_url.contains("app:request (polls)  /a\n"), "{by_url}");
    assert!(by_url.contains("app:decode           (none)\n"), "{by_url}");
    let inherited = of_thread(&["--by", "arg:url", "--inherit"]);
    assert!(inherited.contains("app:decode           /a\n"), "{inherited}");
    let selected = of_thread(&["--arg", "url=/a"]);
    assert_eq!(counts(&selected), [("1", "app:request (polls)")]);
    for options in [["--slowest", "9"], ["--at", "@0.000000035s"]] {
        let table = of_thread(&[&["--arg", "url=/a"], &options[..]].concat());
        assert!(table.contains("app:request id 0x7 (poll)"), "{options:?}: {table}");
    }
    let diff = place.run(&["diff", "in.fxt", "in.fxt", "-t", "3", "--by", "arg:url", "--all"]);
    let is_row = |line: &str| line.contains("app:request (polls)") && line.contains("/a");
    assert!(diff.stdout.lines().any(is_row), "{diff:?}");
}

/// The rows of other tables, and those beyond a limit, are not the reason for a hint.
#[test]
fn no_hint_to_inherit_if_a_row_has_the_argument() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let url = [Argument::new("url", Value::String("/a".into()))];
    let complete = |end| EventKind::DurationComplete { end };
    let instant = EventKind::Instant { scope: None };
    let records: [(u64, &str, EventKind, &[Argument<'_>]); 4] = [
        (0, "long", complete(900), &[]),
        (1, "short", complete(3), &url),
        (5, "hit", instant, &url),
        (6, "miss", instant, &[]),
    ];
    for (ticks, name, kind, arguments) in records {
        let (category, name) = ("app".into(), name.into());
        let arguments = arguments.into();
        let event = Event { ticks, thread: THREAD, category, name, kind, arguments };
        writer.record(&event.into()).unwrap();
    }
    let place = Place::new();
    place.put("in.fxt", &writer.into_inner());
    let has_hint = |options: &[&str]| {
        let run = place.run(&[&["stats", "in.fxt", "--by", "arg:url"], options].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr.contains("hint: --inherit")
    };
    for options in [&["--limit", "1"][..], &["--instants"], &["--flows"], &["--json"]] {
        assert!(!has_hint(options), "{options:?}");
    }
    for options in [&["-n", "long"][..], &["-n", "miss", "--instants"]] {
        assert!(has_hint(options), "{options:?}");
    }
}

#[test]
fn rows_by_argument_and_by_parent() {
    let by_url = run(&["stats", "in.fxt", "--by", "arg:url", "-n", "request,query"]);
    let (durations, operations) = by_url.split_once("async operations").unwrap();
    assert!(durations.contains("app:request (polls)  /a\n"), "{by_url}");
    assert!(durations.contains("app:request (drops)  /a\n"), "{by_url}");
    assert!(!durations.contains("(none)"), "{by_url}");
    assert!(operations.contains("app:request  /a\n"), "{by_url}");
    assert!(operations.contains("app:query    (none)\n"), "{by_url}");
    let by_parent = run(&["stats", "in.fxt", "--by", "parent"]);
    assert!(by_parent.contains("app:query    request\n"), "{by_parent}");
    let csv = run(&["stats", "in.fxt", "--by", "parent", "--csv"]);
    assert!(csv.contains("\nasync,app,query,request,1,450,"), "{csv}");
    let wrong = Place::new().run(&["stats", "in.fxt", "--by", "arg:"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("arg:KEY"), "{wrong:?}");
}

#[test]
fn messages_by_level() {
    let messages = |level| {
        let dump = run(&["dump", "in.fxt", "--level", level]);
        ["slow", "done", "a log record", "another one"].map(|text| dump.contains(text))
    };
    assert_eq!(messages("warn"), [true, false, true, false]);
    assert_eq!(messages("debug"), [true; 4]);
    let place = Place::new();
    place.put("in.fxt", &archive());
    let none = place.run(&["dump", "in.fxt", "--level", "error"]);
    assert_eq!((none.code, &*none.stdout), (0, ""));
    assert!(none.stderr.contains("no selected events or log records have this level"), "{none:?}");
    let selected = run(&["dump", "in.fxt", "--level", "info", "-c", "app"]);
    assert_eq!(selected.lines().count(), 2);
}

#[test]
fn the_events_of_an_operation() {
    let dump = run(&["dump", "in.fxt", "--id", "0x7"]);
    let kinds: Vec<&str> =
        dump.lines().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    let expected = [
        "async-begin",
        "async-instant",
        "async-begin", // Of its child.
        "duration-complete",
        "duration-complete",
        "async-instant",
        "async-end",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_slice_with_cut_durations() {
    let place = Place::new();
    place.put("in.fxt", &archive());
    let range = ["--from", "@0.00000105s", "--to", "@0.00000165s"];
    let arguments = ["slice", "in.fxt", "-o", "out.fxt", "--clip"];
    let run = place.run(&[&arguments[..], &range].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let slice = std::fs::read(place.path("out.fxt")).unwrap();
    let mut reader = Reader::new(&*slice);
    let mut events = 0;
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = item.record else { continue };
        let end = match event.kind {
            EventKind::DurationComplete { end } => end,
            _ => event.ticks,
        };
        assert!((1050..=1650).contains(&event.ticks) && end <= 1650, "{event:?}");
        events += 1;
    }
    // One of them is the mark of a poll that begins before the range.
    assert_eq!(events, 7);
}

#[test]
fn a_flame_graph_of_operations() {
    let svg = run(&["flamegraph", "in.fxt", "--operations", "-o", "-"]);
    assert!(svg.contains("request (1,000 ns, 100.00%)"), "{svg}");
    assert!(svg.contains("query (450 ns, 45.00%)"), "{svg}");
}
