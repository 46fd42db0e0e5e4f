//! Thousands of short threads, with a small buffer.

use std::collections::BTreeMap;

use crate::harness::{subject, Archive, Provider, Run, Session};

const THREADS: u64 = 3000;

/// Checks that each event belongs to its thread, and that missing ones are reported.
fn check(provider: &Provider, mode: &str) {
    for event in &provider.events {
        assert_eq!(event.process, provider.pid);
        // A separate end record of a scope has no arguments.
        let said = event.numbers.get("thread").copied();
        assert_eq!(said.unwrap_or(event.thread), event.thread, "{event:?}");
    }
    let found: usize =
        ["first", "second", "life"].iter().map(|name| numbered(provider, name).len()).sum();
    let expected = 3 * THREADS as usize;
    assert!(found <= expected);
    match mode {
        "streaming" => {
            assert!(found + provider.lost() as usize >= expected, "{found} and {:?}", provider.lost)
        }
        // Names of threads are records too.
        "oneshot" => {
            assert!((expected..=expected + THREADS as usize)
                .contains(&(found + provider.lost() as usize)))
        }
        _ => {}
    }
    let threads: BTreeMap<u64, u64> =
        provider.named("first").map(|event| (event.thread, event.number())).collect();
    for (thread, number) in threads {
        let names = provider.thread_names.get(&thread).map(Vec::as_slice).unwrap_or_default();
        let named = names.contains(&format!("crowd-{number}"));
        // Names are records too, and may be lost or overwritten.
        assert!(
            named || provider.lost() > 0 || mode == "circular",
            "thread {thread} ({number}): {names:?}"
        );
    }
    assert!(provider.thread_processes.iter().all(|process| *process == provider.pid));
}

/// Returns the numbers of the events with this name. Fails if one is repeated.
fn numbered(provider: &Provider, name: &str) -> Vec<u64> {
    let mut numbers: Vec<u64> =
        provider.named(name).filter_map(|event| event.numbers.get("number").copied()).collect();
    numbers.sort_unstable();
    let count = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "{name}: none is repeated");
    numbers
}

#[test]
fn events_of_thousands_of_threads_are_recorded_or_reported_as_lost() {
    for mode in ["streaming", "circular", "oneshot"] {
        let session = Session::start(mode, 64 << 10);
        let crowd = session.subject(&["crowd", &THREADS.to_string(), "8"]).spawn().unwrap();
        assert_eq!(Run::end_of(crowd).code(), 0);
        let (archive, summary) = session.end();
        check(archive.only(), mode);
        assert!(summary.events() > 0, "{mode}");
    }
}

#[test]
fn a_program_that_traces_itself_names_thousands_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.fxt");
    let mut crowd = subject(&["crowd", &THREADS.to_string(), "8"]);
    crowd.env("TRACE_OUTPUT", &output).env("TRACE_BUFFER_SIZE", "64K");
    assert_eq!(Run::of(&mut crowd).code(), 0);
    check(Archive::read(&output).only(), "streaming");
}
