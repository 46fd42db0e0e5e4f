//! Members of documents, and large events.

use trace_convert::{tef, ConvertError};
use trace_format::layout::{BlobType, ObjectType};
use trace_format::{Blob, Reader, Record, Writer};

use crate::json::parse;
use crate::{archive, document};

/// Converts a document to FXT and back; returns the number of events that were carried as JSON.
fn carried(json: &str) -> u64 {
    let (archive, summary) = archive(json.as_bytes());
    assert!(parse(json) == parse(&document(&archive)), "{:.1000}", document(&archive));
    summary.carried
}

#[test]
fn every_documented_key() {
    let json = r##"{
        "displayTimeUnit": "ms",
        "controllerTraceDataKey": "traceEvents",
        "traceEvents": [
            {"ph": "B", "name": "A", "ts": 1, "pid": 1, "tid": 1, "sf": 7},
            {"ph": "E", "name": "A", "ts": 2, "pid": 1, "tid": 1, "sf": 9}
        ],
        "systemTraceEvents": "# tracer: nop\n#\n  a-1 [000] 0.1: sched_switch: prev_comm=a\n",
        "powerTraceAsString": "# BattOr\n",
        "stackFrames": {
            "5": {"name": "main", "category": "my app"},
            "7": {"parent": "5", "name": "SomeFunction", "category": "my app"},
            "9": {"parent": "5", "name": "SomeFunction", "category": "my app"}
        },
        "samples": [{"cpu": 0, "tid": 1, "ts": 1000.0, "name": "cycles", "sf": 3, "weight": 1}],
        "otherData": {"version": "My Application v1.0", "caf\u00e9": [1, 2]},
        "metadata": {"clock-domain": "LINUX_CLOCK_MONOTONIC"}
    }"##;
    let (archive, summary) = archive(json.as_bytes());
    assert_eq!((summary.events, summary.members, summary.carried), (2, 8, 0));
    assert_eq!(parse(&document(&archive)), parse(json));
}

#[test]
fn documents_without_events() {
    for json in ["[]", r#"{"traceEvents":[]}"#, r#"{"a":1,"traceEvents":[],"b":{}}"#] {
        assert_eq!(carried(json), 0);
    }
}

#[test]
fn large_members_are_kept() {
    let text = "# tracer: nop\\n".repeat(20_000);
    carried(&format!(r#"{{"systemTraceEvents":"{text}","traceEvents":[]}}"#));
    carried(&format!(r#"{{"traceEvents":[],"systemTraceEvents":"{text}"}}"#));
}

/// Returns an event with these arguments.
fn event(args: &str) -> String {
    format!(r#"[{{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1,"args":{args}}}]"#)
}

#[test]
fn events_that_exceed_a_record_are_carried() {
    let keys = |count: u32| (0..count).map(|key| format!("\"{key}\":1")).collect::<Vec<_>>();
    let keys = |count| event(&format!("{{{}}}", keys(count).join(",")));
    assert_eq!((carried(&keys(15)), carried(&keys(16)), carried(&keys(1000))), (0, 1, 1));
    let text = |length| event(&format!("{{\"k\":\"{}\"}}", "x".repeat(length)));
    assert_eq!(
        (carried(&text(32_000)), carried(&text(32_001)), carried(&text(1 << 20))),
        (0, 1, 1)
    );
    let two = event(&format!("{{\"k\":\"{0}\",\"l\":\"{0}\"}}", "x".repeat(20_000)));
    assert_eq!(carried(&two), 0, "strings that are too long for the record are in the table");
    let dump = format!("[{{\"a\":[{}0]}}]", "1,".repeat(100_000));
    assert_eq!(carried(&event(&format!("{{\"dump\":{dump}}}"))), 1);
    let name = |length| format!(r#"[{{"ph":"i","ts":1,"name":"{}"}}]"#, "n".repeat(length));
    assert_eq!((carried(&name(32_000)), carried(&name(40_000))), (0, 1));
    assert_eq!(carried(&event(r#"{"\ud800":1}"#)), 1, "a lone surrogate is not UTF-8");
    assert_eq!(carried(&event(r#"{"k":1,"k":2}"#)), 1, "a repeated key");
}

#[test]
fn more_names_than_the_string_table() {
    let event = |number: u32| {
        format!(r#"{{"ph":"B","ts":{number},"pid":1,"tid":{number},"name":"name {number}"}}"#)
    };
    let events: Vec<String> = (0..40_000).map(event).collect();
    assert_eq!(carried(&format!("[{}]", events.join(","))), 0);
}

#[test]
fn processes_with_string_ids_get_names() {
    let json = r#"[{"ph":"B","ts":1,"pid":"renderer","tid":"main"},
        {"ph":"E","ts":2,"pid":"renderer","tid":"main"},
        {"ph":"i","ts":2,"pid":"renderer","tid":7}]"#;
    let (archive, _) = archive(json.as_bytes());
    let mut reader = Reader::new(&archive[..]);
    let mut names = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::KernelObject(object) = &item.record {
            names.push((object.object_type, item.text(object.name).into_owned()));
        }
    }
    let expected =
        [(ObjectType::PROCESS, "renderer".to_owned()), (ObjectType::THREAD, "main".to_owned())];
    assert_eq!(names, expected);
    assert_eq!(parse(&document(&archive)), parse(json));
}

#[test]
fn a_hundred_levels() {
    let nested = |depth| event(&format!("{{\"k\":{}{}}}", "[".repeat(depth), "]".repeat(depth)));
    assert_eq!(carried(&nested(100)), 0);
    let error = tef::to_fxt(tef::Reader::new(nested(1001).as_bytes()), Vec::new()).unwrap_err();
    let ConvertError::Json(error) = error else { panic!("{error}") };
    assert_eq!(error.to_string(), "line 1, column 1066: values are nested more than 1000 deep");
}

/// Carried data may be cut, or may not be JSON.
#[test]
fn malformed_carried_data_becomes_valid_json() {
    let names = ["tef:document", "tef:event", "tef:more", "tef:member", "other"];
    let payloads: [&[u8]; 9] =
        [b"array", b"object", b"{\"a\":1}", b"\"a\":1", b"{", b"5", b"\"a\":1,\"b\"", b"\xff", b""];
    for first in payloads {
        for second in names {
            for third in payloads {
                let mut writer = Writer::new(Vec::new()).unwrap();
                writer.provider(1, "liar").unwrap();
                for (name, payload) in
                    [("tef:document", first), (second, third), ("tef:more", third)]
                {
                    let blob = Blob { name: name.into(), blob_type: BlobType::DATA, payload };
                    writer.record(&blob.into()).unwrap();
                }
                let json = document(&writer.into_inner());
                parse(&json);
            }
        }
    }
}

/// Returns the document of concatenated archives.
pub(crate) fn merged(archives: &[Vec<u8>]) -> String {
    let mut merged = Writer::new(Vec::new()).unwrap().into_inner();
    for archive in archives {
        merged.extend_from_slice(&archive[8..]);
    }
    let json = document(&merged);
    parse(&json);
    json
}

#[test]
fn documents_among_other_archives() {
    let mut native = Writer::new(Vec::new()).unwrap();
    native.provider(7, "native").unwrap();
    let blob = Blob { name: "b".into(), blob_type: BlobType::DATA, payload: b"" };
    native.record(&blob.into()).unwrap();
    let native = native.into_inner();
    let (first, _) = archive(br#"{"displayTimeUnit":"ms","traceEvents":[{"ph":"i","ts":1.5}]}"#);
    let (second, _) = archive(br#"{"traceEvents":[{"ph":"i","ts":2}],"x":[1]}"#);
    let (array, _) = archive(br#"[{"ph":"i","ts":3}]"#);

    let events = "{\"ph\":\"i\",\"ts\":1.5},\n{\"ph\":\"i\",\"ts\":2}\n]";
    let json = merged(&[native.clone(), first.clone(), second.clone()]);
    assert!(json.contains(events), "{json}");
    assert!(json.contains(r#""tef:members":[{"displayTimeUnit":"ms"},{"x":[1]}]"#), "{json}");

    let json = merged(&[first.clone(), native, second]);
    assert!(json.starts_with("{\n\"displayTimeUnit\":\"ms\",\n\"traceEvents\":["), "{json}");
    assert!(json.contains("\"name\":\"blob\"") && json.ends_with("],\n\"x\":[1]}\n"), "{json}");

    let json = merged(&[array, first]);
    let member =
        r#"{"ph":"M","pid":0,"tid":0,"name":"tef:member","args":{"displayTimeUnit":"ms"}}"#;
    assert!(json.starts_with("[\n{\"ph\":\"i\",\"ts\":3},\n") && json.contains(member), "{json}");
}
