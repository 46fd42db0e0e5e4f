//! YAML of logs: LLVM's tools read ours, and this crate reads theirs.

use std::fs::File;
use std::io::Cursor;

use trace_xray::layout::{Action, Version};
use trace_xray::map::{Map, Names};
use trace_xray::read::Ordered;
use trace_xray::{yaml, CustomEvent, EventTime, Format, Record, TypedEvent};

use crate::common::{items, Made};
use crate::theirs::{recorded, subject, THRESHOLDS};
use crate::tools::{self, xray, Work};
use crate::{ours, text};

/// Returns the YAML of a log.
fn yaml_of(log: &[u8], map: &Map, version: Version) -> String {
    let mut output = Vec::new();
    let log = Ordered::new(Cursor::new(log)).unwrap();
    let damage = |error: &_| panic!("{error}");
    yaml::write(log, &mut Names::new(map.clone()), version, &mut output, damage).unwrap();
    String::from_utf8(output).unwrap()
}

/// Returns the log of a YAML.
fn log_of(yaml: &str) -> Vec<u8> {
    let mut log = Vec::new();
    yaml::read(yaml.as_bytes(), &mut log).unwrap();
    log
}

/// Returns the lines of a YAML in order, without what LLVM leaves in records: an event has the
/// function of the record before, and a record the type of the last typed event.
fn lines(yaml: &str) -> Vec<String> {
    let plain = |line: &str| {
        let Some((start, rest)) = line.split_once("{ type: ") else { return line.to_owned() };
        let (number, rest) = rest.split_once(',').unwrap();
        if rest.contains("kind: function") {
            return format!("{start}{{{rest}");
        }
        let number = if rest.contains("kind: typed") { number } else { "" };
        let (_, cpu) = rest.split_once(" cpu: ").unwrap();
        format!("{start}{number} cpu: {cpu}")
    };
    let mut lines: Vec<_> = yaml.lines().map(plain).collect();
    lines.sort();
    lines
}

/// The logs of LLVM's runtime: the same words as `llvm-xray convert -f yaml -symbolize`.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn ours_has_the_words_of_theirs() {
    let work = Work::new();
    let program = subject(&work);
    let map = Map::parse(&std::fs::read(&program).unwrap()).unwrap();
    for threshold in THRESHOLDS {
        let (_work, path) = recorded(&program, threshold);
        let options = ["convert", "-f", "yaml", "-symbolize"];
        let files = ["-m", program.to_str().unwrap(), path.to_str().unwrap()];
        let theirs = xray(&[&options[..], &files].concat()).unwrap();
        let ours = yaml_of(&std::fs::read(&path).unwrap(), &map, Version::V5);
        text::same_lines(&lines(&ours), &lines(&theirs), &format!("threshold {threshold}"));
        // This crate reads it as it reads the log.
        let again = yaml_of(&log_of(&theirs), &map, Version::V5);
        text::same_lines(&lines(&again), &lines(&theirs), "read again");
    }
}

/// Each version: the events of the log, its YAML by us, by LLVM, and by LLVM from ours.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn each_version_has_the_same_events() {
    for (version, threads, size) in ours::all() {
        let log = ours::written(version, threads, size);
        let (mut found, _) = items(&log, 1000);
        // Ours leaves out the fillers of version 1.
        found.retain(
            |item| !matches!(&item.record, Record::CustomEvent(event) if event.is_filler()),
        );
        for item in &mut found {
            item.process = item.process.or(Some(0));
            // Before version 4, LLVM has CPU 0 for a custom event. Ours is that of the thread.
            if let Record::CustomEvent(CustomEvent {
                time: EventTime::Absolute { cpu, .. }, ..
            }) = &mut item.record
            {
                *cpu = cpu.or(Some(item.cpu));
            }
        }
        let events = text::events_of_items(&found);
        let yaml = yaml_of(&log, &Map::default(), Version::V1);
        let case = format!("{version:?}, {threads} threads, {size} bytes");
        text::same_lines(&text::events_of_yaml(&yaml), &events, &case);
        let theirs = tools::yaml(yaml.as_bytes()).unwrap_or_else(|error| panic!("{case}: {error}"));
        text::same_lines(&text::events_of_yaml(&theirs), &events, &case);
        let (again, errors) = items(&log_of(&theirs), 1000);
        assert_eq!(errors, [""; 0], "{case}");
        text::same_lines(&text::events_of_items(&again), &events, &case);
    }
}

#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn each_tool_of_llvm_reads_ours() {
    ours::for_each_log(|log, threads| {
        let map = Map::parse(&ours::map()).unwrap();
        let yaml = yaml_of(log, &map, Version::V1);
        ours::check_tools(yaml.as_bytes(), threads);
        // The conversion to basic mode has each entry and exit, 32 bytes each.
        let work = Work::new();
        let (file, raw) = (work.file("log.yaml", yaml.as_bytes()), work.path().join("raw"));
        let [file, output] = [&file, &raw].map(|path| path.to_str().unwrap());
        xray(&["convert", "-f", "raw", "-o", output, file]).unwrap();
        let functions = yaml.matches("kind: function").count() as u64;
        assert_eq!(File::open(&raw).unwrap().metadata().unwrap().len(), 32 + 32 * functions);
    });
}

/// LLVM's tools read no YAML of the version that they write.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn only_version_1_of_yaml_is_read() {
    for version in Version::ALL {
        let yaml = yaml_of(&ours::written(Version::V5, 1, 4096), &Map::default(), version);
        let read = tools::yaml(yaml.as_bytes());
        assert_eq!(read.is_ok(), version == Version::V1, "{read:?}");
        let (items, errors) = items(&log_of(&yaml), 1000);
        assert!(errors.is_empty() && !items.is_empty());
    }
}

/// A log with a payload that is not UTF-8.
fn binary(payload: &[u8]) -> Vec<u8> {
    let mut log = Made::new(Format::little(Version::V5), 0);
    log.buffer(|log| {
        log.start(7, 8);
        log.put(Record::CustomEvent(CustomEvent { time: EventTime::Delta(1), payload }));
        log.put(Record::TypedEvent(TypedEvent { delta: 1, event_type: 9, payload }));
        log.function(Action::Entry, 1, 5);
    });
    log.bytes
}

/// Zeros in place of records are entries of function 0 in LLVM's YAML. The log itself is read up to
/// the zeros.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn entries_of_function_0_are_refused() {
    let mut log = Made::new(Format::little(Version::V1), 256);
    log.start(7, 8);
    log.put(Record::CustomEvent(CustomEvent {
        time: EventTime::Absolute { tsc: 1001, cpu: None },
        // The zeros are whole records.
        payload: b"an event",
    }));
    log.function(Action::Entry, 1, 5);
    log.function(Action::Exit, 1, 5);
    let events = log.records.len();
    log.bytes.resize(32 + 256, 0);
    let theirs = tools::yaml(&log.bytes).unwrap();
    assert!(theirs.contains("func-id: 0, function: '0', cpu: 0, thread: 8, kind: custom-event"));
    let entry = theirs
        .lines()
        .position(|line| line.contains("func-id: 0, ") && line.contains("kind: function-enter"));
    let line = format!("line {}: func-id 0 is no function", entry.unwrap() + 1);
    let error = yaml::read(theirs.as_bytes(), Vec::new()).unwrap_err().to_string();
    assert!(error.starts_with(&line), "{error}");
    let (items, errors) = items(&log.bytes, 1000);
    assert_eq!((items.len(), errors.len()), (events, 1), "{errors:?}");
}

/// LLVM ends a payload at the first bytes that are not UTF-8. Ours is base64, which LLVM reads as
/// text.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn payloads_that_are_not_text() {
    let payload = b"start\xff\xfeend";
    let log = binary(payload);
    let theirs = tools::yaml(&log).unwrap();
    assert!(theirs.contains("start\u{fffd}") && !theirs.contains("end\""), "{theirs}");
    let ours = yaml_of(&log, &Map::default(), Version::V1);
    assert_eq!(ours.matches("data: !!binary 'c3RhcnT//mVuZA=='").count(), 2, "{ours}");
    let read = tools::yaml(ours.as_bytes()).unwrap();
    assert_eq!(read.matches("c3RhcnT//mVuZA==").count(), 2, "{read}");
    let (items, _) = items(&log_of(&ours), 1000);
    let payloads = items.iter().filter_map(|item| match item.record {
        Record::CustomEvent(event) => Some(event.payload),
        Record::TypedEvent(event) => Some(event.payload),
        _ => None,
    });
    assert!(payloads.eq([&payload[..]; 2]));
}

/// In LLVM's YAML the records behind a typed event have its type.
#[test]
#[ignore = "requires LLVM's tools: run .ci/xray"]
fn records_behind_a_typed_event_have_its_type() {
    let theirs = tools::yaml(&binary(b"text")).unwrap();
    let entry = theirs.lines().find(|line| line.contains("kind: function-enter")).unwrap();
    assert!(entry.contains("{ type: 9, func-id: 1"), "{theirs}");
    let ours = yaml_of(&binary(b"text"), &Map::default(), Version::V1);
    assert!(ours.contains("{ type: 0, func-id: 1") && ours.contains("{ type: 9, cpu: 1"), "{ours}");
}
