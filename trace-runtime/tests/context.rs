//! Trace points created at run time, before and during a recording.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

use std::path::Path;

use trace_format::Reader;
use trace_runtime::context::{scope, EventType, TracePoint, Value};
use trace_runtime::{InstantScope, Timestamp};

const VALUES: [Value<'static>; 11] = [
    Value::Null,
    Value::Bool(true),
    Value::Int32(-1),
    Value::Uint32(2),
    Value::Omitted,
    Value::Int64(-3),
    Value::Uint64(4),
    Value::Double(0.5),
    Value::Str("text"),
    Value::Pointer(6),
    Value::Koid(7),
];
const KEYS: [&str; 11] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];

/// One test, since a process has one recording.
#[test]
fn run_time_trace_points() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("context.fxt");
    let before = TracePoint::new(EventType::Instant, "selected", "before", &KEYS);
    assert!(!before.is_on());

    let trace = trace_runtime::builder().output(&path).categories(["selected"]).init();
    let during = TracePoint::new(EventType::DurationBegin, "selected", "during", &["length"]);
    let counter = TracePoint::new(EventType::Counter, "selected", "counter", &["value"]);
    let other = TracePoint::new(EventType::Instant, "other", "never", &[]);
    assert!(before.is_on() && during.is_on() && counter.is_on() && !other.is_on());
    before.write(&VALUES, &[scope(InstantScope::Process)]);
    {
        let _scope = during.begin(&[Value::Uint32(9), Value::Str("beyond the keys")]);
        counter.write(&[Value::Int64(5)], &[77]);
        other.write(&[], &[]);
    }
    let named = TracePoint::new(EventType::Instant, "selected", "", &["a"]);
    named.write_named("a name", &[Value::Int64(6)], &[scope(InstantScope::Thread)]);
    let past = TracePoint::new(EventType::AsyncBegin, "selected", "past", &[]);
    past.write_at(Timestamp::from_ticks(5), &[], &[78]);
    named.write_log("a message");
    other.write_log("not written");
    drop(trace);
    assert!(!before.is_on() && !during.is_on());

    assert_eq!(
        events(&path),
        [
            "before Instant a=Null b=Bool(true) c=Int32(-1) d=Uint32(2) f=Int64(-3) g=Uint64(4) h=Double(0.5) \
             i=text j=Pointer(6) k=Koid(7)",
            "during DurationComplete length=Uint32(9)",
            "counter Counter value=Int64(5)",
            "a name Instant a=Int64(6)",
            "past AsyncBegin",
            "log a message",
        ]
    );
}

/// Returns the events of the category `selected`, as text.
fn events(path: &Path) -> Vec<String> {
    use trace_format::record::{Record, Value};
    let mut reader = Reader::new(std::fs::File::open(path).unwrap());
    let mut events = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Record::Log(log) = &item.record {
            events.push(format!("log {}", String::from_utf8_lossy(log.message)));
        }
        let Record::Event(event) = &item.record else { continue };
        if item.text(event.category) != "selected" {
            continue;
        }
        let kind = format!("{:?}", event.kind);
        let kind = kind.split(' ').next().unwrap();
        assert!(kind != "AsyncBegin" || event.ticks == 5);
        let mut line = format!("{} {kind}", item.text(event.name));
        for argument in event.arguments.iter() {
            let value = match argument.value {
                Value::String(text) => item.text(text).to_string(),
                other => format!("{other:?}"),
            };
            line.push_str(&format!(" {}={value}", item.text(argument.name)));
        }
        events.push(line);
    }
    events
}
