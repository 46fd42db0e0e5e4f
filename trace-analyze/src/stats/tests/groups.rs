//! Rows of groups: values of arguments, and parents.

use trace_format::{Argument, Record, ThreadKoids, Value};

use super::*;
use crate::parents::Parents;
use crate::stats::{collect, By};

fn with<'a>(
    ticks: u64,
    name: &'a str,
    kind: EventKind,
    arguments: &'a [Argument<'a>],
) -> Record<'a> {
    let thread = Thread::Inline(ThreadKoids::new(1, 5));
    let (category, name, arguments) = ("cat".into(), name.into(), arguments.into());
    Event { ticks, thread, category, name, kind, arguments }.into()
}

fn rows(rows: &[Row]) -> Vec<(String, String, u64, u64)> {
    let value = |row: &Row| {
        let value = row.group.as_ref().unwrap().value.as_ref();
        value.unwrap().as_str().to_owned()
    };
    let row = |row: &Row| (row.name.clone(), value(row), row.lengths.count(), row.lengths.sum());
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.sort();
    rows
}

fn row(name: &str, value: &str, count: u64, sum: u64) -> (String, String, u64, u64) {
    (name.to_owned(), value.to_owned(), count, sum)
}

#[test]
fn rows_of_an_argument() {
    let (a, one) = (
        [Argument::new("key", Value::String("a".into()))],
        [Argument::new("key", Value::Int32(1))],
    );
    let records = [
        with(0, "outer", EventKind::DurationBegin, &a),
        with(1, "inner", EventKind::DurationComplete { end: 3 }, &one),
        with(4, "inner", EventKind::DurationComplete { end: 9 }, &one),
        with(10, "outer", EventKind::DurationEnd, &one),
        with(20, "outer", EventKind::DurationComplete { end: 21 }, &[]),
        with(30, "read", EventKind::AsyncBegin { id: 1 }, &a),
        with(37, "read", EventKind::AsyncEnd { id: 1 }, &[]),
    ];
    let archive = crate::testing::archive(&records);
    let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
    let expected =
        [row("inner", "1", 2, 7), row("outer", "(none)", 1, 1), row("outer", "a", 1, 10)];
    assert_eq!(rows(&report.durations), expected);
    assert_eq!(rows(&report.operations), [row("read", "a", 1, 7)]);
    assert_eq!(report.other_values, 0);
}

/// A condition can be met by the begin, and another one by the end.
#[test]
fn rows_of_events_that_meet_conditions() {
    let text = |key, value| [Argument::new(key, Value::String(Text::from(value)))];
    let (a, b, done) = (text("path", "/a/1"), text("path", "/b"), text("state", "done"));
    let records = [
        with(0, "read", EventKind::DurationBegin, &a),
        with(1, "inner", EventKind::DurationComplete { end: 3 }, &b),
        with(10, "read", EventKind::DurationEnd, &done),
        with(20, "read", EventKind::DurationComplete { end: 21 }, &a),
        with(30, "call", EventKind::AsyncBegin { id: 1 }, &a),
        with(37, "call", EventKind::AsyncEnd { id: 1 }, &done),
        with(40, "call", EventKind::AsyncBegin { id: 2 }, &b),
        with(48, "call", EventKind::AsyncEnd { id: 2 }, &done),
        with(50, "flow", EventKind::FlowBegin { id: 3 }, &a),
        with(60, "flow", EventKind::FlowEnd { id: 3 }, &[]),
        with(70, "hit", EventKind::Instant { scope: None }, &a),
        with(80, "hit", EventKind::Instant { scope: None }, &b),
    ];
    let archive = crate::testing::archive(&records);
    let report = |conditions: &[Condition]| {
        collect(Reader::new(&*archive), By::Conditions(conditions), None).unwrap()
    };
    let sums = |rows: &[Row]| {
        let sum = |row: &Row| (row.name.clone(), row.lengths.count(), row.lengths.sum());
        rows.iter().map(sum).collect::<Vec<_>>()
    };
    let row = |name: &str, count, sum| (name.to_owned(), count, sum);
    let (path, state) = (Condition::new("path", "/a*"), Condition::new("state", "done"));
    let of_path = report(std::slice::from_ref(&path));
    assert_eq!(sums(&of_path.durations), [row("read", 2, 11)]);
    assert_eq!(sums(&of_path.operations), [row("call", 1, 7)]);
    assert_eq!(sums(&of_path.flows), [row("flow", 1, 10)]);
    assert_eq!(sums(&of_path.instants), [row("hit", 1, 0)]);
    assert!(of_path.durations.iter().all(|row| row.group.is_none()));
    let of_both = report(&[path, state]);
    assert_eq!(sums(&of_both.durations), [row("read", 1, 10)]);
    assert_eq!(sums(&of_both.operations), [row("call", 1, 7)]);
}

#[test]
fn rows_of_an_argument_at_one_time() {
    let key = |value| [Argument::new("key", Value::String(Text::from(value)))];
    let (a, b) = (key("a"), key("b"));
    let records = [
        with(0, "read", EventKind::DurationComplete { end: 0 }, &a),
        with(0, "read", EventKind::DurationComplete { end: 0 }, &b),
        with(5, "read", EventKind::DurationBegin, &a),
        with(5, "read", EventKind::DurationBegin, &b),
        with(7, "read", EventKind::DurationEnd, &[]),
        with(9, "read", EventKind::DurationEnd, &[]),
        with(20, "read", EventKind::DurationComplete { end: 28 }, &[]),
        with(20, "read", EventKind::DurationComplete { end: 30 }, &b),
    ];
    let archive = crate::testing::archive(&records);
    let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
    let expected = [row("read", "(none)", 1, 8), row("read", "a", 2, 4), row("read", "b", 3, 12)];
    assert_eq!(rows(&report.durations), expected);
}

/// Results are known at the end only.
#[test]
fn rows_of_an_argument_of_the_end() {
    let key = |value| [Argument::new("key", Value::String(Text::from(value)))];
    let (a, b) = (key("a"), key("b"));
    let records = [
        with(0, "work", EventKind::DurationBegin, &[]),
        with(1, "work", EventKind::DurationBegin, &a),
        with(3, "work", EventKind::DurationEnd, &b),
        with(4, "work", EventKind::DurationEnd, &b),
        with(5, "op", EventKind::AsyncBegin { id: 1 }, &[]),
        with(6, "op", EventKind::AsyncBegin { id: 2 }, &b),
        with(7, "op", EventKind::AsyncEnd { id: 1 }, &a),
        with(9, "op", EventKind::AsyncEnd { id: 2 }, &a),
    ];
    let archive = crate::testing::archive(&records);
    let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
    let expected = [row("work", "a", 1, 2), row("work", "b", 1, 4)];
    assert_eq!(rows(&report.durations), expected);
    assert_eq!(rows(&report.operations), [row("op", "a", 1, 2), row("op", "b", 1, 3)]);
}

/// Formats have ends without a name, and complete events that end or begin with another duration.
#[test]
fn an_argument_of_an_end_is_that_of_its_duration() {
    let (ok, end) = ([Argument::new("key", Value::Int32(200))], EventKind::DurationEnd);
    let (begin, complete) = (EventKind::DurationBegin, |end| EventKind::DurationComplete { end });
    let without_name = |ticks| -> Record<'_> {
        let Record::Event(event) = with(ticks, "", end, &ok) else { unreachable!() };
        Event { category: "".into(), ..event }.into()
    };
    let report = |records: &[Record<'_>]| {
        let archive = crate::testing::archive(records);
        let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
        rows(&report.durations)
    };
    let both = [with(1, "outer", begin, &[]), with(2, "inner", complete(6), &[]), without_name(6)];
    assert_eq!(report(&both), [row("inner", "(none)", 1, 4), row("outer", "200", 1, 5)]);
    let recursive =
        [with(1, "f", begin, &[]), with(2, "f", complete(6), &[]), with(6, "f", end, &ok)];
    assert_eq!(report(&recursive), [row("f", "(none)", 1, 4), row("f", "200", 1, 5)]);
    let together =
        [with(1, "f", begin, &ok), with(1, "f", complete(6), &[]), with(9, "f", end, &[])];
    assert_eq!(report(&together), [row("f", "(none)", 1, 5), row("f", "200", 1, 8)]);
}

/// The first poll has a mark, the others name their operation. Threads come in any order, and
/// an id can be used again.
#[test]
fn polls_have_the_arguments_of_their_operation() {
    let key = |value| Argument::new("key", Value::String(Text::from(value)));
    let count = Argument::new("poll-count", Value::Uint64(1));
    let (a, b, own, mark) = ([key("a")], [key("b")], [key("own")], [count]);
    let poll = |id| [Argument::new("task", Value::Uint64(id)), count];
    let (of_one, of_two, of_three) = (poll(1), poll(2), poll(3));
    let complete = |end| EventKind::DurationComplete { end };
    let (begin, end) = (|id| EventKind::AsyncBegin { id }, |id| EventKind::AsyncEnd { id });
    let records = [
        with(10, "op", complete(11), &[]),
        with(10, "op", EventKind::AsyncInstant { id: 1 }, &mark),
        with(12, "op", complete(14), &of_one),
        with(32, "op", complete(36), &of_one),
        with(52, "op", EventKind::DurationBegin, &of_two),
        with(53, "inner", complete(54), &own),
        with(60, "op", EventKind::DurationEnd, &[]),
        with(70, "op", complete(86), &of_three),
        with(9, "op", begin(1), &a),
        with(20, "op", end(1), &[]),
        with(30, "op", begin(1), &b),
        with(40, "op", end(1), &[]),
        with(50, "op", begin(2), &[]),
        with(61, "op", end(2), &a),
    ];
    let archive = crate::testing::archive(&records);
    let open = || Reader::new(&*archive);
    let groups = Groups::read(By::Argument("key"), open()).unwrap();
    let report = collect(open(), groups, None).unwrap();
    let expected = [
        row("inner", "own", 1, 1),
        row("op", "(none)", 1, 16),
        row("op", "a", 3, 11),
        row("op", "b", 1, 4),
    ];
    assert_eq!(rows(&report.durations), expected);
    let conditions = [Condition::new("key", "a")];
    let groups = Groups::read(By::Conditions(&conditions), open()).unwrap();
    let report = collect(open(), groups, None).unwrap();
    let counts: Vec<_> =
        report.durations.iter().map(|row| (&*row.name, row.lengths.count())).collect();
    assert_eq!(counts, [("op", 3)]);
}

#[test]
fn values_beyond_the_limit_share_a_row() {
    let values: Vec<_> =
        (0..1500).map(|value| [Argument::new("key", Value::Uint64(value))]).collect();
    let complete = |at: usize| EventKind::DurationComplete { end: at as u64 + 1 };
    let records: Vec<Record<'_>> = values
        .iter()
        .enumerate()
        .map(|(at, value)| with(at as u64, "step", complete(at), value))
        .collect();
    let archive = crate::testing::archive(&records);
    let report = collect(Reader::new(&*archive), By::Argument("key"), None).unwrap();
    assert_eq!((report.durations.len(), report.other_values), (1001, 500));
    assert!(rows(&report.durations).contains(&row("step", "(other values)", 500, 500)));
}

#[test]
fn rows_of_operations_by_their_parents() {
    let (of_one, of_two) =
        ([Argument::new("parent", Value::Uint64(1))], [Argument::new("parent", Value::Uint64(2))]);
    let begin = |id| EventKind::AsyncBegin { id };
    let end = |id| EventKind::AsyncEnd { id };
    let records = [
        with(2, "query", begin(3), &of_two),
        with(5, "query", end(3), &[]),
        with(0, "request", begin(1), &[]),
        with(1, "user", begin(2), &of_one),
        with(6, "query", begin(4), &of_one),
        with(7, "query", end(4), &[]),
        with(8, "user", end(2), &[]),
        with(9, "request", end(1), &[]),
    ];
    let archive = crate::testing::archive(&records);
    let parents = Parents::read(Reader::new(&*archive)).unwrap();
    let report = collect(Reader::new(&*archive), By::Parent(&parents), None).unwrap();
    let expected = [
        row("query", "request", 1, 1),
        row("query", "request → user", 1, 3),
        row("request", "(none)", 1, 9),
        row("user", "request", 1, 7),
    ];
    assert_eq!(rows(&report.operations), expected);
}

/// The query has the user of the request around it, or of its parent, and none of its own.
#[test]
fn values_of_durations_and_operations_around() {
    let text = |value| Argument::new("user", Value::String(Text::from(value)));
    let number = |key, value| Argument::new(key, Value::Uint64(value));
    let (ann, bob, cat) = ([text("ann")], [text("bob")], [text("cat")]);
    let (of_one, poll) = ([number("parent", 1)], [number("task", 2), number("poll-count", 1)]);
    let complete = |end| EventKind::DurationComplete { end };
    let instant = EventKind::Instant { scope: None };
    let records = [
        // Inner durations come before the one around them, whose argument is that of the end.
        with(10, "query", complete(20), &[]),
        with(30, "part", complete(60), &cat),
        with(40, "query", complete(50), &[]),
        with(55, "hit", instant, &[]),
        with(0, "request", EventKind::DurationBegin, &[]),
        with(100, "request", EventKind::DurationEnd, &ann),
        with(110, "query", complete(120), &[]),
        with(200, "request", EventKind::AsyncBegin { id: 1 }, &bob),
        with(210, "query", EventKind::AsyncBegin { id: 2 }, &of_one),
        with(220, "query", complete(230), &poll),
        with(222, "decode", complete(223), &[]),
        with(290, "query", EventKind::AsyncEnd { id: 2 }, &[]),
        with(300, "request", EventKind::AsyncEnd { id: 1 }, &[]),
    ];
    let archive = crate::testing::archive(&records);
    let open = || Ok::<_, ReadError>(Reader::new(&*archive));
    let groups = Groups::read_inherited("user", open).unwrap();
    let report = collect(Reader::new(&*archive), groups, None).unwrap();
    let expected = [
        row("decode", "bob", 1, 1),
        row("part", "cat", 1, 30),
        row("query", "(none)", 1, 10),
        row("query", "ann", 1, 10),
        row("query", "bob", 1, 10),
        row("query", "cat", 1, 10),
        row("request", "ann", 1, 100),
    ];
    assert_eq!(rows(&report.durations), expected);
    assert_eq!(
        rows(&report.operations),
        [row("query", "bob", 1, 80), row("request", "bob", 1, 100)]
    );
    assert_eq!(rows(&report.instants), [row("hit", "cat", 1, 0)]);
    let inherited = |rows: &[Row]| rows.iter().map(|row| row.inherited).sum::<u64>();
    // Three queries, one of which is a poll, and the decoding.
    assert_eq!((inherited(&report.durations), report.values_left_out), (4, 0));
    assert_eq!((inherited(&report.operations), inherited(&report.instants)), (1, 1));
    let report = collect(Reader::new(&*archive), By::Argument("user"), None).unwrap();
    assert!(rows(&report.durations).contains(&row("query", "(none)", 3, 30)));
    assert_eq!(inherited(&report.durations), 0);
}

/// An own value at the end counts more than one around the begin.
#[test]
fn own_values_of_ends_and_values_around_begins() {
    let text = |value| [Argument::new("user", Value::String(Text::from(value)))];
    let (ann, bob) = (text("ann"), text("bob"));
    let records = [
        with(0, "request", EventKind::DurationComplete { end: 100 }, &ann),
        with(10, "send", EventKind::FlowBegin { id: 1 }, &[]),
        with(20, "send", EventKind::FlowBegin { id: 2 }, &[]),
        with(30, "query", EventKind::AsyncBegin { id: 3 }, &[]),
        with(40, "query", EventKind::AsyncBegin { id: 4 }, &[]),
        with(210, "send", EventKind::FlowEnd { id: 1 }, &bob),
        with(220, "send", EventKind::FlowEnd { id: 2 }, &[]),
        with(230, "query", EventKind::AsyncEnd { id: 3 }, &bob),
        with(240, "query", EventKind::AsyncEnd { id: 4 }, &[]),
    ];
    let archive = crate::testing::archive(&records);
    let open = || Ok::<_, ReadError>(Reader::new(&*archive));
    let groups = Groups::read_inherited("user", open).unwrap();
    let report = collect(Reader::new(&*archive), groups, None).unwrap();
    for (found, name) in [(&report.flows, "send"), (&report.operations, "query")] {
        assert_eq!(rows(found), [row(name, "ann", 1, 200), row(name, "bob", 1, 200)]);
        assert_eq!(found.iter().map(|row| row.inherited).sum::<u64>(), 1);
    }
}
