use serde_json::json;
use trace_format::{Argument, Arguments, Event, Record, Thread, Value};

use super::*;
use crate::arguments::Condition;
use crate::stats::By;
use EventKind::*;

const THREAD: ThreadKoids = ThreadKoids::new(1, 5);

fn event<'a>(
    ticks: u64,
    name: &'a str,
    kind: EventKind,
    arguments: impl Into<Arguments<'a>>,
) -> Record<'a> {
    let (thread, category) = (Thread::Inline(THREAD), "cat".into());
    Event { ticks, thread, category, name: name.into(), kind, arguments: arguments.into() }.into()
}

fn found(records: &[Record<'_>], number: usize, only: &str) -> Vec<String> {
    found_at(records, number, None, only)
}

fn found_at(records: &[Record<'_>], number: usize, at: Option<u64>, only: &str) -> Vec<String> {
    found_with(records, number, at, &[], only)
}

fn found_with(
    records: &[Record<'_>],
    number: usize,
    at: Option<u64>,
    conditions: &[Condition],
    only: &str,
) -> Vec<String> {
    let archive = crate::testing::archive(records);
    let open = || Ok::<_, ReadError>(Reader::new(&*archive));
    let is_selected = |_: &str, name: &str| only.is_empty() || name == only;
    let groups = Groups::read(By::Conditions(conditions), open().unwrap()).unwrap();
    let slowest = slowest(open, groups, number, at, None, is_selected).unwrap();
    let line = |instance: &Instance| {
        let arguments: Vec<String> =
            instance.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let length = instance.nanos.map_or_else(|| "open".to_owned(), |nanos| nanos.to_string());
        format!("{length} {} {}", instance.name, arguments.join(" "))
    };
    slowest.instances.iter().map(line).collect()
}

#[test]
fn the_longest_instances_have_the_arguments_of_both_halves() {
    let of = [("file", 3), ("job", 1), ("step", 2), ("step", 9), ("result", 5), ("bytes", 1 << 60)];
    let of = of.map(|(name, value)| [Argument::new(name, Value::Uint64(value))]);
    let records = [
        event(0, "read", AsyncBegin { id: 7 }, &of[0]),
        event(10, "outer", DurationBegin, &of[1]),
        event(10, "inner", DurationComplete { end: 40 }, &of[2]),
        event(10, "inner", DurationComplete { end: 20 }, &of[3]),
        event(60, "", DurationEnd, &of[4]),
        event(70, "read", AsyncEnd { id: 7 }, &of[5]),
        event(80, "inner", DurationComplete { end: 85 }, &[]),
    ];
    let all = [
        "70 read file=3 bytes=\"1152921504606846976\"",
        "50 outer job=1 result=5",
        "30 inner step=2",
        "10 inner step=9",
        "5 inner ",
    ];
    assert_eq!(found(&records, 10, ""), all);
    assert_eq!(found(&records, 2, ""), all[..2]);
    assert_eq!(found(&records, 2, "inner"), all[2..4]);
    assert!(found(&records, 0, "").is_empty());
    assert_eq!(found_at(&records, 10, Some(15), ""), all[..4]);
    let with = |key, value| found_with(&records, 10, None, &[Condition::new(key, value)], "");
    assert_eq!(
        (with("file", "3"), with("bytes", "1152921504606846976")),
        (vec![all[0].into()], vec![all[0].into()])
    );
    assert_eq!(
        (with("result", "5"), with("step", "9")),
        (vec![all[1].into()], vec![all[3].into()])
    );
    assert!(with("step", "7").is_empty());
    assert_eq!(found_at(&records, 10, Some(41), ""), all[..2]);
    assert_eq!(found_at(&records, 10, Some(85), ""), all[4..]);
    assert!(found_at(&records, 10, Some(75), "").is_empty());
}

/// An end at the time of another instance's begin does not belong to that one.
#[test]
fn instances_that_touch_keep_their_arguments() {
    let of = [1, 2, 3, 4].map(|value| [Argument::new("n", Value::Uint64(value))]);
    let records = [
        event(10, "step", DurationBegin, &of[0]),
        event(20, "step", DurationEnd, &of[1]),
        event(20, "step", DurationBegin, &of[2]),
        event(31, "step", DurationEnd, &of[3]),
    ];
    assert_eq!(found(&records, 5, ""), ["11 step n=3 n=4", "10 step n=1 n=2"]);
}

#[test]
fn a_time_shows_what_has_no_end() {
    let of = [1, 2].map(|value| [Argument::new("n", Value::Uint64(value))]);
    let records = [
        event(10, "outer", DurationBegin, &of[0]),
        event(12, "around", DurationBegin, &[]),
        event(13, "forgotten", DurationBegin, &[]),
        event(14, "around", DurationEnd, &[]),
        event(15, "read", AsyncBegin { id: 7 }, &of[1]),
        event(20, "inner", DurationComplete { end: 30 }, &[]),
        event(90, "later", DurationBegin, &[]),
    ];
    let open = ["open outer n=1", "open read n=2", "10 inner "];
    assert_eq!(found_at(&records, 10, Some(25), ""), open);
    assert_eq!(found_at(&records, 10, Some(13), ""), ["open outer n=1", "2 around "]);
    assert_eq!(found_at(&records, 1, Some(25), ""), open[..2], "one of each kind");
    let with = Condition::new("n", "2");
    assert_eq!(found_with(&records, 10, Some(25), &[with], ""), open[1..2]);
    assert_eq!(found(&records, 10, ""), ["10 inner ", "2 around "], "without a time");
}

/// A poll names its operation by an argument, or a mark does.
#[test]
fn polls_have_their_operations() {
    let count = Argument::new("poll-count", Value::Uint64(1));
    let (poll, mark) = ([Argument::new("task", Value::Uint64(7)), count], [count]);
    let other = ThreadKoids::new(1, 6);
    let begun = |id, name| {
        let mut record = event(1, name, AsyncBegin { id }, &[]);
        if let Record::Event(event) = &mut record {
            event.thread = Thread::Inline(other);
        }
        record
    };
    let records = [
        begun(7, "future"),
        begun(8, "span"),
        begun(9, "idle"),
        event(10, "future", DurationComplete { end: 40 }, &poll),
        event(20, "span", DurationComplete { end: 30 }, &[]),
        event(20, "span", AsyncInstant { id: 8 }, &mark),
        event(50, "span", DurationComplete { end: 60 }, &[]),
        event(100, "span", AsyncEnd { id: 8 }, &[]),
    ];
    let archive = crate::testing::archive(&records);
    let open = || Ok::<_, ReadError>(Reader::new(&*archive));
    let polls = |at| {
        let is_poll = |it: &Instance| it.operation.is_none();
        let found = slowest(open, Grouping::Together.into(), 10, Some(at), None, |_, _| true)
            .unwrap()
            .instances;
        found.into_iter().filter(is_poll).collect::<Vec<_>>()
    };
    let ids = |at| polls(at).iter().map(|it| (it.role, it.polled)).collect::<Vec<_>>();
    assert_eq!(ids(25), [(Role::Poll, Some(7)), (Role::Poll, Some(8))]);
    assert_eq!(ids(55), [(Role::Duration, None)]);
    let operations = |instances: &[Instance]| {
        let found = polled(open, 25, instances).unwrap();
        found.iter().map(|it| (it.operation.unwrap(), it.nanos, it.thread)).collect::<Vec<_>>()
    };
    assert_eq!(operations(&polls(25)), [(7, None, other), (8, Some(99), other)]);
    assert_eq!(operations(&polls(55)), []);
    let all = slowest(open, Grouping::Together.into(), 10, Some(25), None, |_, _| true)
        .unwrap()
        .instances;
    assert_eq!(operations(&all), [], "they are among the instances");
}

/// Of nested durations of one time, each has the arguments of its own begin and end.
#[test]
fn instances_of_one_time_keep_their_arguments() {
    let of = [1, 2, 3, 4].map(|value| [Argument::new("n", Value::Uint64(value))]);
    let unnamed_ends = [
        event(10, "outer", DurationBegin, &of[0]),
        event(20, "inner", DurationBegin, &of[1]),
        event(60, "", DurationEnd, &of[2]),
        event(60, "", DurationEnd, &of[3]),
    ];
    assert_eq!(found(&unnamed_ends, 5, ""), ["50 outer n=1 n=4", "40 inner n=2 n=3"]);
    let recursion = [
        event(10, "f", DurationBegin, &of[0]),
        event(10, "f", DurationBegin, &of[1]),
        event(20, "f", DurationEnd, &of[2]),
        event(30, "f", DurationEnd, &of[3]),
    ];
    assert_eq!(found(&recursion, 5, ""), ["20 f n=1 n=4", "10 f n=2 n=3"]);
    let equal = [
        event(10, "f", DurationComplete { end: 20 }, &of[0]),
        event(10, "f", DurationComplete { end: 20 }, &of[1]),
    ];
    let mut lines = found(&equal, 5, "");
    lines.sort();
    assert_eq!(lines, ["10 f n=1", "10 f n=2"]);
}

#[test]
fn arguments_of_one_name_are_an_array_in_json() {
    let value = |value: u64| ("n".to_owned(), json!(value));
    let instance = Instance {
        category: String::new(),
        name: String::new(),
        operation: None,
        role: Role::Duration,
        polled: None,
        thread: THREAD,
        process_name: String::new(),
        thread_name: String::new(),
        begin_nanos: 0,
        nanos: Some(0),
        arguments: vec![value(1), value(2), value(3)],
        states: None,
    };
    assert_eq!(instance.to_json()["arguments"], json!({ "n": [1, 2, 3] }));
}

#[test]
fn values_as_json() {
    let values = [
        Argument::new("text", Value::String("a".into())),
        Argument::new("yes", Value::Bool(true)),
        Argument::new("none", Value::Null),
        Argument::new("least", Value::Int64(i64::MIN)),
        Argument::new("nan", Value::Double(f64::NAN)),
        Argument::new("at", Value::Pointer(16)),
    ];
    let records = [event(0, "step", DurationComplete { end: 1 }, &values)];
    let text =
        "text=\"a\" yes=true none=null least=\"-9223372036854775808\" nan=\"NaN\" at=\"0x10\"";
    assert_eq!(found(&records, 1, ""), [format!("1 step {text}")]);
}

/// With a time, the number is that of durations and that of operations.
#[test]
fn the_kinds_have_numbers_of_their_own_at_a_time() {
    let records = [
        event(0, "a", AsyncBegin { id: 1 }, &[]),
        event(1, "b", AsyncBegin { id: 2 }, &[]),
        event(2, "outer", DurationComplete { end: 30 }, &[]),
        event(3, "inner", DurationComplete { end: 20 }, &[]),
        event(4, "innermost", DurationComplete { end: 10 }, &[]),
        event(90, "a", AsyncEnd { id: 1 }, &[]),
        event(90, "b", AsyncEnd { id: 2 }, &[]),
    ];
    let archive = crate::testing::archive(&records);
    let open = || Ok::<_, ReadError>(Reader::new(&*archive));
    let names = |number, over| {
        let found =
            slowest(open, Grouping::Together.into(), number, Some(5), over, |_, _| true).unwrap();
        let left_out = (found.durations_left_out, found.operations_left_out);
        let names = found.instances.into_iter().map(|instance| instance.name);
        (names.collect::<Vec<_>>().join(" "), left_out)
    };
    assert_eq!(names(1, None), ("a outer".to_owned(), (2, 1)));
    assert_eq!(names(2, None), ("a b outer inner".to_owned(), (1, 0)));
    assert_eq!(names(1, Some(10)), ("a outer".to_owned(), (1, 1)));
    assert_eq!(names(9, Some(17)), ("a b outer".to_owned(), (0, 0)));
}
