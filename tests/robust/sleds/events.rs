//! Custom and typed events of C++ programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trace_xray::fxt::record_of_payload;
use trace_xray::read::Ordered;
use trace_xray::Record;

use super::{assert_calls, Recorded};
use crate::harness::building::products;
use crate::harness::{trace, Run};
use crate::llvm_tools;

/// Compiles the program.
fn program(directory: &Path, options: &[&str]) -> PathBuf {
    products();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/sleds/events.cpp");
    let program = directory.join("program");
    let mut clang = Command::new("clang++-19");
    clang.args(["-pthread", "-fxray-instrument", "-fno-xray-link-deps"]).args(options);
    assert_eq!(Run::of(clang.arg(source).arg("-o").arg(&program)).code(), 0);
    program
}

/// The program computes the same, whatever the compiler has in registers.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn llvm_compiles_programs_whose_events_are_recorded() {
    for options in
        [&["-O2"][..], &["-O0"], &["-O2", "-march=native"], &["-O2", "-fno-PIE", "-no-pie"]]
    {
        let directory = tempfile::tempdir().unwrap();
        let program = program(directory.path(), options);
        let expected = Run::of(&mut Command::new(&program)).stdout();
        let recorded = Recorded::of(&program, &["--functions", "app::*"], &[]);
        assert_eq!(recorded.output, expected, "{options:?}");
        let provider = recorded.archive.only();
        let mut texts: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, event_type) in [("custom event", None), ("typed event", Some(&42))] {
            let events = provider.named(name).filter(|it| it.numbers.get("type") == event_type);
            for text in events.filter_map(|event| event.texts.get("payload")) {
                *texts.entry(text).or_default() += 1;
            }
        }
        assert_eq!(texts.len(), 100, "{options:?}");
        assert!(texts.iter().all(|(text, number)| text.starts_with("event ") && *number == 4));
    }
}

/// Its address would be its type.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn events_whose_arguments_clang_overwrites_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path(), &["-O2"]);
    let recorded = Recorded::of(&program, &["--functions", "app::overwritten*"], &[]);
    let provider = recorded.archive.only();
    let report = provider.named("sleds patched").next().expect("a report");
    assert_eq!((report.numbers["refused"], report.numbers["sleds"]), (1, 2));
    assert_eq!(provider.named("typed event").count(), 0);
}

/// An exception ends a function without an exit. The event behind it is not inside of that.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn functions_that_an_exception_has_ended_end_before_an_event() {
    for options in [&["-O2"][..], &["-O0"]] {
        let directory = tempfile::tempdir().unwrap();
        let program = program(directory.path(), options);
        let (_directory, log) = recorded_log(&program, &[]);
        let yaml = llvm_tools::yaml(&log);
        let is_one =
            |line: &&str| line.contains("'app::throws()'") || line.ends_with("data: caught }");
        let lines: Vec<_> = yaml.lines().filter(is_one).collect();
        let [entry, exit, event] = lines[..] else { panic!("{options:?}: {lines:#?}") };
        assert!(entry.contains("kind: function-enter,"), "{options:?}: {entry}");
        assert!(exit.contains("kind: function-exit,"), "{options:?}: {exit}");
        assert!(event.contains("kind: typed-event,"), "{options:?}: {event}");
    }
}

/// Events of functions that are not selected are not recorded.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn events_belong_to_their_functions() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path(), &["-O2"]);
    let functions = "app::*,-app::mixed*,-app::catches*";
    let recorded = Recorded::of(&program, &["--functions", functions], &[]);
    let provider = recorded.archive.only();
    assert_calls(&recorded.calls(), &[("app::empty()", 1)]);
    assert!(provider.named("custom event").all(|event| event.texts.is_empty()));
}

/// Returns the payloads of the events in a log, with their types.
fn events(log: &Path) -> Vec<(Option<u16>, Vec<u8>)> {
    let mut log = Ordered::new(File::open(log).unwrap()).unwrap();
    let mut events = Vec::new();
    while let Some(item) = log.next().unwrap() {
        match item.record {
            Record::CustomEvent(event)
                if !event.is_filler() && record_of_payload(event.payload).is_none() =>
            {
                events.push((None, event.payload.to_vec()));
            }
            Record::TypedEvent(event) => {
                events.push((Some(event.event_type), event.payload.to_vec()));
            }
            _ => {}
        }
    }
    events
}

fn recorded_log(program: &Path, options: &[&str]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let mut record = trace(&["record", "--xray", "--format", "xray", "--functions", "app::*"]);
    record.args(options).arg("-o").arg(directory.path()).arg("--").arg(program);
    let run = Run::of(&mut record);
    assert_eq!(run.code(), 0, "{run:?}");
    let mut paths = fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap().path());
    let log = paths.find(|path| path.extension().is_some_and(|it| it == "xray")).unwrap();
    (directory, log)
}

/// Returns the events of the program, in order.
fn expected_events() -> Vec<(Option<u16>, Vec<u8>)> {
    let mut expected = vec![(Some(43), b"caught".to_vec())];
    for kind in [None, Some(42)] {
        for number in (0..100).flat_map(|number| [number; 2]) {
            expected.push((kind, format!("event {number}").into_bytes()));
        }
    }
    for kind in [None, Some(65_535)] {
        expected.push((kind, vec![0xff, 0, 0xfe]));
        expected.extend([(kind, vec![0x80; 40_000]), (kind, vec![b'a'; 33_000])]);
    }
    expected.sort();
    expected
}

/// The calls of the program.
const CALLS: [(&str, u64); 6] = [
    ("app::mixed(double, double, double, double, long, char const*, unsigned long)", 200),
    ("app::binary(long, long, char const*, unsigned long)", 3),
    ("app::overwritten(char const*, unsigned long)", 1),
    ("app::catches(long, long, char const*, unsigned long)", 1),
    ("app::throws()", 1),
    ("app::empty()", 1),
];

/// In a log they are the events that LLVM's runtime would write, for our reader and LLVM's, whose
/// tools have the calls, too. In version 1 they have no type.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn events_are_events_in_logs() {
    let directory = tempfile::tempdir().unwrap();
    let program = program(directory.path(), &["-O2"]);
    for (version, customs, typed) in [("5", 2, 2), ("1", 4, 0)] {
        let (_directory, log) = recorded_log(&program, &["--log-version", version]);
        let (mut events, mut expected) = (events(&log), expected_events());
        if typed == 0 {
            expected.iter_mut().for_each(|(event_type, _)| *event_type = None);
            expected.sort();
        }
        events.sort();
        assert!(events == expected, "version {version}: {} events", events.len());
        let yaml = llvm_tools::yaml(&log);
        for number in 0..100 {
            let data = format!("data: event {number} }}");
            let of = |kind: &str| {
                let lines = yaml.lines().filter(|line| line.ends_with(&data));
                lines.filter(|line| line.contains(kind)).count()
            };
            let found = (of("kind: custom-event"), of("kind: typed-event"));
            assert_eq!(found, (customs, typed), "{number}, version {version}");
        }
        llvm_tools::check_calls(&log, &CALLS.into(), &format!("version {version}"));
    }
}
