//! Tests of the JSON for each record type, and of hostile content.

mod hostile;
mod late;
mod records;
mod scheduling;
mod values;

use trace_format::layout::InstantScope;
use trace_format::{Argument, Arguments, Event, EventKind, Reader, Record, Value};

use super::write;
use crate::testing::{archive, event};
use crate::Conversion;

/// Returns the JSON events of an archive, each as text, and the conversion.
fn convert_bytes(archive: &[u8]) -> (Vec<String>, Conversion) {
    let mut json = Vec::new();
    let conversion = write(Reader::new(archive), &mut json).unwrap();
    let json = String::from_utf8(json).unwrap();
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
    let body = json.strip_prefix("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n").unwrap_or("");
    let (events, _) = body.split_once("\n],\"otherData\":").unwrap_or_default();
    (events.split(",\n").map(str::to_owned).collect(), conversion)
}

/// Returns the only JSON event of an archive with one record.
fn converted(record: Record<'_>) -> String {
    let (events, conversion) = convert_bytes(&archive(&[record]));
    assert_eq!((events.len(), conversion.events), (1, 1));
    assert!(conversion.damage.is_readable());
    events.concat()
}

fn plain(kind: EventKind) -> String {
    converted(event(kind, Arguments::NONE))
}

/// Returns the common members of the tests' events, with this phase.
fn head(phase: &str) -> String {
    format!(r#"{{"ph":"{phase}","pid":12,"tid":34,"cat":"cat","name":"name","ts":1.500"#)
}

#[test]
fn instants_have_a_scope() {
    let scopes = [
        (Some(InstantScope::Thread), "t"),
        (Some(InstantScope::Process), "p"),
        (Some(InstantScope::Global), "g"),
        (None, "t"),
    ];
    for (scope, letter) in scopes {
        let expected = format!(r#"{},"s":"{letter}"}}"#, head("i"));
        assert_eq!(plain(EventKind::Instant { scope }), expected);
    }
}

#[test]
fn durations() {
    assert_eq!(plain(EventKind::DurationBegin), head("B") + "}");
    assert_eq!(plain(EventKind::DurationEnd), head("E") + "}");
    let complete = plain(EventKind::DurationComplete { end: 4_001 });
    assert_eq!(complete, head("X") + r#","dur":2.501}"#);
}

#[test]
fn a_duration_of_length_0_ends_a_nanosecond_later() {
    let kinds = [EventKind::DurationBegin, EventKind::FlowBegin { id: 1 }, EventKind::DurationEnd];
    let records = kinds.map(|kind| event(kind, Arguments::NONE));
    let (events, _) = convert_bytes(&archive(&records));
    assert_eq!(events[0], head("B") + "}");
    assert_eq!(events[2], head("E").replace("1.500", "1.501") + "}");
}

/// Viewers sort by time, with ends first.
#[test]
fn durations_of_length_0_do_not_overlap() {
    use EventKind::{DurationBegin as B, DurationComplete, DurationEnd as E, FlowBegin};
    let kinds = [B, E, B, B, E, FlowBegin { id: 1 }, E, DurationComplete { end: 1500 }, B, E];
    let at = |(kind, ticks)| match event(kind, Arguments::NONE) {
        Record::Event(event) => Record::Event(Event { ticks, ..event }),
        record => record,
    };
    // The last ones are from a chunk that was saved late, and after all others.
    let records =
        kinds.map(|kind| (kind, 1500)).into_iter().chain([(B, 400), (E, 1502), (B, 1503)]);
    let (events, _) = convert_bytes(&archive(&records.map(at).collect::<Vec<_>>()));
    let times = events.iter().map(|event| {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        (event["ts"].as_f64().unwrap() * 1000.0).round() as u64
    });
    let expected = [1500, 1501, 1501, 1501, 1502, 1502, 1502, 1502, 1502, 1503, 400, 1502, 1503];
    assert_eq!(times.collect::<Vec<_>>(), expected);
}

#[test]
fn a_duration_that_ends_before_it_begins_is_counted() {
    let record = event(EventKind::DurationComplete { end: 1 }, Arguments::NONE);
    let (events, conversion) = convert_bytes(&archive(&[record]));
    assert_eq!(events, [head("X") + r#","dur":0.000}"#]);
    assert_eq!(conversion.reversed_durations, 1);
}

#[test]
fn async_events_have_an_id() {
    let id = u64::MAX - 1;
    let expected = |phase| head(phase) + r#","id2":{"local":"0xfffffffffffffffe"}}"#;
    assert_eq!(plain(EventKind::AsyncBegin { id }), expected("b"));
    assert_eq!(plain(EventKind::AsyncInstant { id }), expected("n"));
    assert_eq!(plain(EventKind::AsyncEnd { id }), expected("e"));
}

#[test]
fn flows_bind_to_the_enclosing_duration() {
    let id = 0x2a;
    assert_eq!(plain(EventKind::FlowBegin { id }), head("s") + r#","id":"0x2a"}"#);
    assert_eq!(plain(EventKind::FlowStep { id }), head("t") + r#","id":"0x2a","bp":"e"}"#);
    assert_eq!(plain(EventKind::FlowEnd { id }), head("f") + r#","id":"0x2a","bp":"e"}"#);
}

#[test]
fn counters_have_an_id_unless_it_is_0() {
    let arguments = [Argument::new("free", Value::Uint32(7))];
    let counter = |id| converted(event(EventKind::Counter { id }, &arguments));
    assert_eq!(counter(0), head("C") + r#","args":{"free":7}}"#);
    assert_eq!(counter(3), head("C") + r#","id":"0x3","args":{"free":7}}"#);
}

#[test]
fn counters_have_only_numbers() {
    let arguments = [
        Argument::new("big", Value::Uint64(u64::MAX)),
        Argument::new("small", Value::Int64(i64::MIN)),
        Argument::new("half", Value::Double(0.5)),
        Argument::new("nan", Value::Double(f64::NAN)),
        Argument::new("text", Value::String("x".into())),
        Argument::new("yes", Value::Bool(true)),
    ];
    let record = event(EventKind::Counter { id: 0 }, &arguments);
    let (events, conversion) = convert_bytes(&archive(&[record]));
    let values = r#"{"big":18446744073709551615,"small":-9223372036854775808,"half":0.5}"#;
    assert_eq!(events, [format!("{},\"args\":{values}}}", head("C"))]);
    assert_eq!(conversion.counter_values_left_out, 3);
}

#[test]
fn an_empty_archive_becomes_an_empty_list() {
    let mut json = Vec::new();
    write(Reader::new(&archive(&[])[..]), &mut json).unwrap();
    let expected = concat!(
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n],\"otherData\":{\"source\":\"FXT\",",
        "\"records\":2,\"records dropped\":0,\"buffers full\":0,\"bad records\":0,",
        "\"unknown records\":0,\"unknown strings\":0,\"unknown threads\":0,",
        "\"counter values left out\":0,\"reversed durations\":0,\"cut\":false}}\n",
    );
    assert_eq!(String::from_utf8(json).unwrap(), expected);
}
