//! Logs as YAML, and back.

mod common;

use std::io::Cursor;

use proptest::prelude::*;
use trace_xray::layout::{Action, Version, FILLER};
use trace_xray::map::{Map, Names};
use trace_xray::read::Ordered;
use trace_xray::yaml::{self, Counts};
use trace_xray::{CustomEvent, EventTime, Format, FunctionId, Record, TypedEvent};

use common::{items, Made};

const HEADER: &str = "---
header:
  version:         1
  type:            1
  constant-tsc:    true
  nonstop-tsc:     true
  cycle-frequency: 1000000000
records:";

/// Each kind of record, on two threads.
const RECORDS: &str = "
  - { type: 0, func-id: 1, function: main, cpu: 1, thread: 8, process: 7, kind: function-enter, tsc: 1005, data: '' }
  - { type: 0, func-id: 2, function: 'a<b>', args: [ 3, 18446744073709551615 ], cpu: 1, thread: 8, process: 7, \
   kind: function-enter-arg, tsc: 1010, data: '' }
  - { type: 0, cpu: 1, thread: 8, process: 7, kind: custom-event, tsc: 1012, data: text }
  - { type: 9, cpu: 1, thread: 8, process: 7, kind: typed-event, tsc: 1013, data: !!binary '//4=' }
  - { type: 0, func-id: 2, function: 'a<b>', cpu: 1, thread: 8, process: 7, kind: function-tail-exit, tsc: 1020, data: '' }
  - { type: 0, func-id: 1, function: main, cpu: 1, thread: 8, process: 7, kind: function-exit, tsc: 1030, data: '' }
  - { type: 0, func-id: 3, function: '#3', cpu: 1, thread: 9, process: 7, kind: function-enter, tsc: 1005, data: '' }
...
";

fn text() -> String {
    format!("{HEADER}{RECORDS}")
}

/// Returns the log of a YAML and the names of its functions.
fn log_of(yaml: &str) -> Result<(Vec<u8>, Map), String> {
    let mut log = Vec::new();
    let map = yaml::read(yaml.as_bytes(), &mut log).map_err(|error| error.to_string())?;
    Ok((log, map))
}

/// Returns the YAML of a log, and its errors.
fn yaml_of(log: &[u8], map: Map) -> (String, Counts, Vec<String>) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let log = Ordered::new(Cursor::new(log)).unwrap();
    let damage = |error: &trace_xray::read::ReadError| errors.push(error.to_string());
    let counts = yaml::write(log, &mut Names::new(map), Version::V1, &mut output, damage).unwrap();
    (String::from_utf8(output).unwrap(), counts, errors)
}

#[test]
fn a_yaml_becomes_a_log_with_each_record() {
    let (log, map) = log_of(&text()).unwrap();
    let (items, errors) = items(&log, 1000);
    assert_eq!(errors, [""; 0]);
    let events: Vec<_> = items
        .iter()
        .filter_map(|item| {
            let at = (item.tsc, item.thread, item.process, item.cpu);
            let of = |text: String| Some((at, text));
            match item.record {
                Record::Function(it) => of(format!("{:?} {}", it.action, it.function)),
                Record::CallArgument { value } => of(value.to_string()),
                Record::CustomEvent(event) => of(format!("{:?}", event.payload)),
                Record::TypedEvent(event) => {
                    of(format!("{} {:?}", event.event_type, event.payload))
                }
                _ => None,
            }
        })
        .collect();
    let at = |tsc, thread| (tsc, thread, Some(7), 1);
    let expected = [
        (at(1005, 8), "Entry #1"),
        (at(1010, 8), "EntryArgs #2"),
        (at(1010, 8), "3"),
        (at(1010, 8), "18446744073709551615"),
        (at(1012, 8), "[116, 101, 120, 116]"),
        (at(1013, 8), "9 [255, 254]"),
        (at(1020, 8), "TailExit #2"),
        (at(1030, 8), "Exit #1"),
        (at(1005, 9), "Entry #3"),
    ];
    assert_eq!(events, expected.map(|(at, text)| (at, text.to_owned())));
    let names: Vec<_> =
        map.functions().map(|(id, function)| (id.number(), function.name().unwrap())).collect();
    assert_eq!(names, [(1, "main".to_owned()), (2, "a<b>".to_owned())]);
}

#[test]
fn a_log_of_yaml_becomes_the_same_yaml() {
    let text = text();
    let (log, map) = log_of(&text).unwrap();
    let (again, counts, errors) = yaml_of(&log, map);
    assert_eq!(again, text);
    assert_eq!((counts, errors.len()), (Counts { functions: 5, events: 2, errors: 0 }, 0));
}

/// Every version and record kind: what YAML has is the same after a second conversion.
#[test]
fn each_version_becomes_yaml() {
    for version in Version::ALL {
        let mut log = Made::new(Format::little(version), 4096);
        log.buffer(|log| {
            log.start(7, 8);
            log.function(Action::Entry, 1, 5);
            log.function(Action::EntryArgs, 2, 5);
            log.put(Record::CallArgument { value: 4 });
            log.put(Record::TscWrap { tsc: 5000 });
            let time = match version {
                Version::V5 => EventTime::Delta(3),
                Version::V4 => EventTime::Absolute { tsc: 5003, cpu: Some(6) },
                _ => EventTime::Absolute { tsc: 5003, cpu: None },
            };
            for payload in [&FILLER[..], b"\xff\0"] {
                log.put(Record::CustomEvent(CustomEvent { time, payload }));
            }
            if version == Version::V5 {
                let event = TypedEvent { delta: 1, event_type: 3, payload: b"\n" };
                log.put(Record::TypedEvent(event));
            }
            log.put(Record::NewCpuId { cpu: 2, tsc: 6000 });
            log.function(Action::TailExit, 2, 5);
            log.function(Action::Exit, 1, 5);
        });
        let (text, counts, errors) = yaml_of(&log.bytes, Map::default());
        let events = if version == Version::V5 { 2 } else { 1 };
        assert_eq!(counts, Counts { functions: 4, events, errors: 0 }, "{version:?}: {errors:?}");
        assert!(text.contains("data: !!binary '/wA='") && !text.contains("padding"), "{text}");
        let process = if version >= Version::V3 { " process: 7," } else { "" };
        let exit = format!(
            "func-id: 1, function: '#1', cpu: 2, thread: 8,{process} kind: function-exit, tsc: 6010"
        );
        assert!(text.contains(&exit), "{text}");
        let (again, map) = log_of(&text).unwrap();
        assert_eq!(yaml_of(&again, map).0, text, "{version:?}");
    }
}

#[test]
fn a_log_without_records_becomes_yaml() {
    let empty = format!("{HEADER}         []\n...\n");
    let (log, map) = log_of(&empty).unwrap();
    assert!(map.is_empty());
    let (again, counts, _) = yaml_of(&log, map);
    assert_eq!((again, counts), (empty, Counts::default()));
}

#[test]
fn a_damaged_log_becomes_yaml_with_its_errors() {
    let (log, map) = log_of(&text()).unwrap();
    let (text, counts, errors) = yaml_of(&log[..log.len() - 4], map);
    assert_eq!((counts.functions, counts.errors, errors.len()), (4, 1, 1), "{errors:?}");
    assert!(text.ends_with("...\n"));
}

/// Memory does not hold all records: thread buffers are written when they have many.
#[test]
fn long_logs_keep_their_order() {
    let mut text = HEADER.to_owned() + "\n";
    for number in 0..70_000_u64 {
        for thread in [8, 9] {
            let kind = if number % 2 == 0 { "function-enter" } else { "function-exit" };
            text += &format!(
                "- {{ func-id: 1, cpu: 0, thread: {thread}, kind: {kind}, tsc: {number} }}\n"
            );
        }
    }
    let (log, _) = log_of(&text).unwrap();
    let (items, errors) = items(&log, 1 << 20);
    assert_eq!(errors, [""; 0]);
    let buffers = items.iter().filter(|item| matches!(item.record, Record::NewBuffer { .. }));
    assert!(buffers.count() > 2);
    for thread in [8, 9] {
        let of = items.iter().filter(|item| item.thread == thread);
        let calls = of.filter(|item| item.record.kind().is_none());
        assert!(calls.map(|item| item.tsc).eq(0..70_000), "{thread}");
    }
}

#[test]
fn errors_have_the_line() {
    let record = |fields: &str| format!("{HEADER}\n  - {{ {fields} }}\n");
    for (text, expected) in [
        ("[]".to_owned(), "line 1: expected a header and records"),
        (HEADER.replace("records:", "more: 1"), "line 9: the records are missing"),
        ("records: []\nheader: {}".to_owned(), "line 1: expected the header before the records"),
        ("header: { version: 1 }\nrecords: []".to_owned(), "line 1: cycle-frequency is missing"),
        (format!("{HEADER} []\nrecords: []"), "line 9: a second list of records"),
        (format!("{HEADER} []\nheader: {{}}"), "line 9: a second header"),
        (record("kind: function-enter, tsc: 1, cpu: 1"), "line 9: the record has no func-id"),
        (record("kind: custom-event, tsc: 1, cpu: 1"), "line 9: the event has no data"),
        (record("kind: function-enter, tsc: 1, func-id: 1"), "line 9: the record has no cpu"),
        (record("kind: other"), "line 9: unknown kind other"),
        (record("cpu: 65536"), "line 9: invalid cpu: 65536"),
        (record("func-id: 268435456"), "line 9: func-id has more than 28 bits"),
        (
            record("kind: function-enter, tsc: 1, cpu: 1, func-id: 0"),
            "line 9: func-id 0 is no function: llvm-xray reads zeros of a log as its entries, convert \
             the log itself",
        ),
        (record("func-id: -1"), "line 9: invalid func-id: -1"),
        (record("args: [ a ]"), "line 9: invalid argument: a"),
        (record("tsc: &a 1, cpu: *a"), "line 9: expected a value"),
    ] {
        assert_eq!(log_of(&text).unwrap_err(), expected, "{text}");
    }
    let error = log_of(&record("data: !!binary '***'")).unwrap_err();
    assert!(error.starts_with("line 9: invalid base64: "), "{error}");
    let not_text = yaml::read(&b"---\nheader: \xff"[..], Vec::new()).unwrap_err();
    assert!(format!("{not_text:?}").contains("not UTF-8"), "{not_text:?}");
}

/// LLVM's tools write an event so that comes before the functions of its thread.
#[test]
fn an_event_may_have_function_0() {
    let event = "func-id: 0, function: '0', kind: custom-event, tsc: 1, cpu: 1, data: text";
    let (log, map) = log_of(&format!("{HEADER}\n  - {{ {event} }}\n")).unwrap();
    let (items, errors) = items(&log, 1000);
    assert_eq!((errors.len(), map.is_empty()), (0, true));
    assert!(matches!(items.last().unwrap().record, Record::CustomEvent(_)));
}

#[test]
fn yaml_is_detected_by_its_header() {
    assert!(yaml::detects(text().as_bytes()) && yaml::detects(b"# log\nheader:\n  type: 1\n"));
    for flow in
        ["header: { version: 1, type: 0 }\n", "--- # log\nheader: # of a log\n  {\n type: 1"]
    {
        assert!(yaml::detects(flow.as_bytes()), "{flow}");
    }
    for other in [
        "",
        "---\n",
        "header:\n",
        "header:\n  title: a\n",
        "header: { title: a }\n",
        "version: 1\nheader:\n",
    ] {
        assert!(!yaml::detects(other.as_bytes()), "{other}");
    }
}

/// LLVM's tools read both styles, and do not check the type of the log.
#[test]
fn a_header_may_be_in_braces() {
    let fields = "version: 1, type: 0, constant-tsc: true, nonstop-tsc: true";
    let header = format!("---\nheader: {{ {fields}, cycle-frequency: 1000000000 }}\nrecords:");
    let flow = format!("{header}{RECORDS}");
    assert!(yaml::detects(flow.as_bytes()));
    assert_eq!(log_of(&flow).unwrap().0, log_of(&text()).unwrap().0);
}

#[test]
fn names_of_functions_are_kept_once() {
    let record = |id: u32, name: &str| {
        format!("- {{ func-id: {id}, function: {name}, cpu: 0, kind: function-enter, tsc: 1 }}\n")
    };
    let records = [record(1, "'1'"), record(1, "first"), record(1, "second"), record(2, "'#2'")];
    let (_, map) = log_of(&format!("{HEADER}\n{}", records.concat())).unwrap();
    let name = |number| map.function(FunctionId::new(number).unwrap()).and_then(|it| it.name());
    assert_eq!((name(1).as_deref(), name(2)), (Some("first"), None));
}

proptest! {
    #[test]
    fn changed_yaml_never_panics(at in 0..2000_usize, bytes in prop::collection::vec(any::<u8>(), 0..9)) {
        let mut text = text().into_bytes();
        let at = at % text.len();
        text.splice(at..(at + bytes.len()).min(text.len()), bytes);
        let mut log = Vec::new();
        if yaml::read(&text[..], &mut log).is_ok() {
            prop_assert_eq!(items(&log, 1000).1, [""; 0]);
        }
        let _cut = yaml::read(&text[..at], Vec::new());
    }
}
