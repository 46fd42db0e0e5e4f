//! Stacks of events and samples as backtraces.

use trace_convert::text::{self, Names};
use trace_format::{Reader, Record};

use crate::json::parse;
use crate::phases::records;
use crate::{archive, document};

/// Returns the lines of backtraces and objects in `trace dump`, without offsets.
fn profile(json: &str) -> Vec<String> {
    let (archive, _) = archive(json.as_bytes());
    assert_eq!(parse(&document(&archive)), parse(json));
    let (mut reader, mut names) = (Reader::new(&archive[..]), Names::default());
    let mut lines = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let mut line = String::new();
        text::line_with_names(&mut line, &item, &mut names).unwrap();
        if let Record::Backtrace(_) = item.record {
            lines.push(line.split_whitespace().skip(2).collect::<Vec<_>>().join(" "));
        }
    }
    lines
}

#[test]
fn addresses_are_kept() {
    let event = r#"{"ph":"i","name":"a","ts":1,"pid":1,"tid":2,"stack":["0x10","0xab"]}"#;
    assert_eq!(profile(&format!("[{event}]")), ["backtrace 1/2 0.000001000s 0xab 0x10"]);
}

#[test]
fn names_are_objects() {
    let event = r#"{"ph":"i","name":"a","ts":1,"pid":1,"tid":2,"stack":["main","0x20"]}"#;
    let found = profile(&format!("[{event},{event}]"));
    assert_eq!(found.len(), 2);
    for line in found {
        let (frames, name) = line.split_once(" where ").unwrap();
        let main = frames.strip_prefix("backtrace 1/2 0.000001000s 0x20 ").unwrap();
        assert_eq!(name, format!("{main} is \"main\""));
    }
}

#[test]
fn frames_and_samples_of_a_document() {
    let frames =
        r#"{"1":{"name":"0x10"},"2":{"name":"0x20","parent":"1"},"3":{"name":"0x30","parent":3}}"#;
    let samples = r#"[{"cpu":0,"tid":2,"ts":5.5,"name":"cycles","sf":2,"weight":1},{"tid":9,"ts":6,"sf":"1"},{"sf":1}]"#;
    let event = |sf: &str| format!(r#"{{"ph":"B","name":"a","ts":1,"pid":1,"tid":2,"sf":{sf}}}"#);
    let events = [event("2"), event("\"1\""), event("3"), event("7")].join(",");
    let json =
        format!(r#"{{"stackFrames":{frames},"traceEvents":[{events}],"samples":{samples}}}"#);
    let found = profile(&json);
    let expected = ["backtrace 1/2 0.000001000s 0x20 0x10", "backtrace 1/2 0.000001000s 0x10"];
    assert_eq!(found[..2], expected);
    // A frame that is its own parent is listed once.
    assert_eq!(found[2].matches(" 0x30").count(), 1);
    let sampled = ["backtrace 1/2 0.000005500s 0x20 0x10", "backtrace 0/9 0.000006000s 0x10"];
    assert_eq!(found[3..], sampled);
}

#[test]
fn cycles_of_frames_end() {
    let frames = r#"{"1":{"name":"0x10","parent":"2"},"2":{"name":"0x20","parent":"3"},"3":{"name":"0x30","parent":"2"}}"#;
    let event = |sf: u64| format!(r#"{{"ph":"i","name":"a","ts":1,"pid":1,"tid":2,"sf":{sf}}}"#);
    let events = [event(1), event(3), event(1)].join(",");
    let found = profile(&format!(r#"{{"traceEvents":[{events}],"stackFrames":{frames}}}"#));
    let stack = |frames: &str| format!("backtrace 1/2 0.000001000s {frames}");
    assert_eq!(found, ["0x10 0x20 0x30", "0x30 0x20", "0x10 0x20 0x30"].map(stack));
}

/// A name is written once for each process, whose number costs a few bytes.
#[test]
fn backtraces_are_limited_by_the_size_of_the_document() {
    let name = "f".repeat(20_000);
    let event = |pid: usize| format!(r#"{{"ph":"i","ts":1,"pid":{pid},"tid":2,"sf":1}}"#);
    let document = |events: usize| {
        let events: Vec<_> = (1..=events).map(event).collect();
        let events = events.join(",");
        format!(r#"{{"traceEvents":[{events}],"stackFrames":{{"1":{{"name":"{name}"}}}}}}"#)
    };
    let (_, summary) = archive(document(10).as_bytes());
    assert_eq!(summary.omitted_backtraces, 0);
    let json = document(3_000);
    let (archive, summary) = archive(json.as_bytes());
    assert!(archive.len() < 40 * json.len(), "{} of {}", archive.len(), json.len());
    let written = records(&archive).iter().filter(|line| line.starts_with("backtrace")).count();
    assert_eq!(summary.omitted_backtraces + written as u64, 3_000);
    assert!(summary.omitted_backtraces > 0 && written > 0, "{written}");
}
