//! `trace insn record --in-scope`: only the scopes of a trace point are stepped.

use std::path::Path;

use crate::harness::{subject_path, trace, Archive, Event, Run, Shape};

/// The function that each request of the program calls once.
const INSIDE: &str = "subject::announced::inside";

/// Records a program of six requests. Returns the output.
fn record(directory: &Path, options: &[&str], scope: &str) -> Run {
    let mut record = trace(&["insn", "record", "--in-scope", scope, "-o"]);
    record.arg(directory).args(options).arg("--").arg(subject_path());
    Run::of(record.args(["announced", "6"]))
}

/// Returns the names and times of the calls of a recording.
fn calls(directory: &Path) -> Vec<Event> {
    let archive = directory.join("calls.fxt");
    let mut print = trace(&["insn", "print", "--format", "fxt", "-o"]);
    let run = Run::of(print.arg(&archive).arg(directory));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&archive);
    archive.only().events.iter().filter(|event| event.shape == Shape::Begin).cloned().collect()
}

/// Returns begin and end of each scope of this name that the program has recorded itself. A scope
/// during which a buffer is handed over has an end of its own.
fn scopes(directory: &Path, name: &str) -> Vec<(u64, u64)> {
    let archive = Archive::read(&directory.join("scopes.fxt"));
    let mut events: Vec<_> = archive.only().named(name).collect();
    events.sort_by_key(|event| event.ticks);
    let (mut open, mut scopes) = (Vec::new(), Vec::new());
    for event in events {
        match event.shape {
            Shape::Complete(end) => scopes.push((event.ticks, end)),
            Shape::Begin => open.push(event.ticks),
            Shape::End => scopes.push((open.pop().unwrap(), event.ticks)),
            _ => panic!("{event:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    scopes
}

#[test]
fn the_instructions_of_each_scope_are_recorded_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let run = record(directory.path(), &[], "web/request");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("6 scopes of web/request"), "{run:?}");
    let calls = calls(directory.path());
    let inside: Vec<_> = calls.iter().filter(|call| call.name == INSIDE).collect();
    let requests = scopes(directory.path(), "request");
    assert_eq!((inside.len(), requests.len()), (6, 8));
    for call in &inside {
        let holds = |(begin, end): &(u64, u64)| (*begin..=*end).contains(&call.ticks);
        assert!(requests.iter().any(holds), "{call:?} in {requests:?}");
    }
    assert!(!calls.iter().any(|call| call.name.ends_with("::outside")));
    assert_eq!(scopes(directory.path(), "other").len(), 6);
}

#[test]
fn one_scope_is_recorded_and_the_program_continues_untraced() {
    let directory = tempfile::tempdir().unwrap();
    let run = record(directory.path(), &["--nth", "3"], "web/request");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("scope 3 of web/request was recorded"), "{run:?}");
    let calls = calls(directory.path());
    assert_eq!(calls.iter().filter(|call| call.name == INSIDE).count(), 1);
    assert_eq!(scopes(directory.path(), "other").len(), 6, "the program runs to its end");
}

#[test]
fn a_scope_that_no_program_has_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let run = record(directory.path(), &[], "web/missing");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stderr().contains("0 scopes of web/missing"), "{run:?}");
    assert_eq!(scopes(directory.path(), "request").len(), 8);
}
