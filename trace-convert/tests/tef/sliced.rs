//! Slices of archives that were made of documents.

use serde_json::{json, Value};
use trace_convert::slice::{self, Plan, Selection};
use trace_format::Reader;

use crate::{archive, document};

/// More arguments than a record can hold.
fn many() -> Value {
    (0..16).map(|key| (format!("k{key}"), json!(key))).collect::<serde_json::Map<_, _>>().into()
}

/// Returns an event that is carried as JSON.
fn large(phase: &str, pid: u64, name: &str, millis: u64) -> Value {
    let (category, ts) = (format!("of {pid}"), millis * 1000);
    json!({"ph": phase, "pid": pid, "tid": 1, "cat": category, "name": name, "ts": ts, "dur": 1, "args": many()})
}

/// Returns a document of 10 ms.
fn original() -> Value {
    let sort =
        json!({"ph": "M", "pid": 1, "name": "process_sort_index", "args": {"sort_index": 3}});
    let mut events = vec![sort];
    events.extend((0..10).map(|at| large("X", 1 + at % 2, &format!("at {at}"), at)));
    events.push(large("B", 2, "around", 1));
    events.push(large("E", 2, "around", 3));
    events.push(large("B", 2, "before", 1));
    events.push(large("E", 2, "before", 2));
    events
        .push(json!({"ph": "O", "pid": 2, "id": "0x1", "name": "object", "ts": 1, "args": many()}));
    let long = "x".repeat(70_000);
    events.push(
        json!({"ph": "i", "pid": 2, "tid": 1, "name": "long", "ts": 9000, "args": {"long": long}}),
    );
    json!({"displayTimeUnit": "ns", "traceEvents": events, "stackFrames": {"1": {"name": "main"}}})
}

/// Slices the document and returns the names of its events.
fn cut(selection: &Selection<'_>) -> Vec<String> {
    let original = original();
    let archive = archive(original.to_string().as_bytes()).0;
    let mut output = Vec::new();
    let plan = Plan::read(Reader::new(&*archive), selection).unwrap();
    slice::write(Reader::new(&*archive), &plan, &mut output).unwrap();
    let mut part: Value = serde_json::from_str(&document(&output)).unwrap();
    let events = part["traceEvents"].take();
    part["traceEvents"] = original["traceEvents"].clone();
    assert_eq!(part, original, "everything except the events is kept");
    let events = events.as_array().unwrap();
    assert!(events.iter().all(|event| original["traceEvents"].as_array().unwrap().contains(event)));
    events.iter().map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

const INDEX: &str = "process_sort_index";

#[test]
fn all_of_it() {
    assert_eq!(cut(&Selection::default()).len(), 17);
}

#[test]
fn by_time() {
    let selection = Selection { from: 2_500_000, to: Some(4_500_000), ..Selection::default() };
    assert_eq!(cut(&selection), [INDEX, "at 3", "at 4", "around", "around", "object"]);
}

#[test]
fn by_who_and_what() {
    let selection =
        Selection { to: Some(4_000_000), processes: Some(&[2]), ..Selection::default() };
    let of_two = ["at 1", "at 3", "around", "around", "before", "before", "object"];
    assert_eq!(cut(&selection), [&[INDEX], &of_two[..]].concat());
    let category = |category: &str| category == "of 1";
    let selection = Selection { category: Some(&category), ..Selection::default() };
    assert_eq!(cut(&selection), [INDEX, "at 0", "at 2", "at 4", "at 6", "at 8"]);
}
