//! Typed events of LLVM's runtime in our reader.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use trace_xray::map::Map;
use trace_xray::Record;

use crate::common::{items, OwnedItem};
use crate::text;
use crate::theirs::recorded;
use crate::tools::{compile, dump, source, verify, xray, yaml, Work};

const SIGSEGV: i32 = 11;

/// Returns the threads of typed events, with their types and payloads, in order.
fn typed(items: &[OwnedItem]) -> Vec<(i32, u16, &str)> {
    let mut typed: Vec<_> = items
        .iter()
        .filter_map(|item| match item.record {
            Record::TypedEvent(event) => {
                let payload = std::str::from_utf8(event.payload).unwrap();
                Some((item.thread, event.event_type, payload))
            }
            _ => None,
        })
        .collect();
    typed.sort_unstable();
    typed
}

/// Returns the same of the YAML of LLVM.
fn typed_of_yaml(yaml: &str) -> Vec<(i32, u16, &str)> {
    let lines = yaml.lines().filter(|line| line.contains("kind: typed-event"));
    let mut typed: Vec<_> = lines
        .map(|line| {
            let between = |start: &str, end: &str| {
                let (_, rest) = line.split_once(start).unwrap();
                rest.split_once(end).unwrap().0
            };
            let thread = between(" thread: ", ",").parse().unwrap();
            (thread, between("{ type: ", ",").parse().unwrap(), between(" data: ", " }"))
        })
        .collect();
    typed.sort_unstable();
    typed
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn typed_events_are_the_same() {
    let work = Work::new();
    let program = compile(&work, &source("typed.cpp"), "typed", &[]);
    let (_work, path) = recorded(&program, 0);
    let log = std::fs::read(path).unwrap();
    let (items, errors) = items(&log, 1000);
    assert_eq!(errors, [""; 0]);
    verify(&log).unwrap();
    text::same_text(&text::dump(&items), &dump(&log).unwrap(), "records");
    let theirs = yaml(&log).unwrap();
    text::same_lines(&text::events_of_items(&items), &text::events_of_yaml(&theirs), "events");
    let ours = typed(&items);
    assert_eq!(ours, typed_of_yaml(&theirs));
    let counts =
        text::counted(ours.iter().map(|(_, number, payload)| format!("{number} {payload}")));
    // Five of each type on both threads.
    let expected = (0..6).map(|number| (format!("{} event {number}", number * 13_107), 10));
    assert_eq!(counts, expected.collect());
    // Of the thread buffers, 16 bytes are missing for each of them.
    let functions = items.iter().filter(|item| item.record.kind().is_none()).count();
    assert!(functions < 2 * (2 + 30 * 4 + 60 * 2), "{functions} entries and exits");
    // Its tools have no names for this log.
    let error = xray(&["extract".as_ref(), program.as_os_str()]).unwrap_err();
    assert!(error.contains("Exec format error"), "{error}");
    let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
    let mut names: Vec<_> = map.functions().filter_map(|(_, function)| function.name()).collect();
    names.sort();
    assert!(names.starts_with(&["events", "leaf", "typed", "work"].map(String::from)), "{names:?}");
}

/// LLVM's runtime does not align the stack for a typed event, as it does for a custom one. A sled
/// that pushes three registers calls it with another alignment than its instructions need.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn a_typed_event_that_pushes_three_registers_ends_the_program() {
    let work = Work::new();
    let program = compile(&work, &source("typed.cpp"), "typed", &["-DPUSHES"]);
    let mut command = Command::new(program);
    let status =
        command.current_dir(work.path()).env("XRAY_OPTIONS", "patch_premain=false").status();
    assert_eq!(status.unwrap().signal(), Some(SIGSEGV));
}
