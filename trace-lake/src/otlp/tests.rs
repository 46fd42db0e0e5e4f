//! Spans of archives as another program decodes them.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message;
use trace_format::layout::InstantScope;
use trace_format::{Argument, Event, EventKind, Record, Thread, Value};

use crate::session::{self, DEFAULT_MEMORY};
use crate::subject::Subject;
use crate::testing::{archive, complete, event, opened, THREAD};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// Returns what is exported of an archive.
fn exported(records: &[Record<'_>]) -> anyhow::Result<TracesData> {
    let (_file, archive) = opened(&archive(records))?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.otlp");
    session::runtime()?.block_on(async {
        let session = session::session(&Subject::Archive(archive), DEFAULT_MEMORY).await?;
        super::export(&session, &path).await
    })?;
    Ok(TracesData::decode(&*std::fs::read(&path)?)?)
}

fn spans(data: &TracesData) -> Vec<&Span> {
    let scopes = data.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    scopes.flat_map(|scope| &scope.spans).collect()
}

/// The time 0 of the archive is 1,000 ns after 1970.
fn anchor<'a>(argument: &'a [Argument<'a>; 1]) -> Record<'a> {
    Record::Event(Event {
        ticks: 0,
        thread: Thread::Inline(THREAD),
        category: "trace".into(),
        name: "clock anchor".into(),
        kind: EventKind::Instant { scope: Some(InstantScope::Global) },
        arguments: (&argument[..]).into(),
    })
}

fn realtime() -> [Argument<'static>; 1] {
    [Argument::new("realtime_ns", Value::Uint64(1000))]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn spans_of_a_request_and_those_in_them_are_exported() {
    let anchor_argument = realtime();
    let arguments = [
        Argument::new("trace_id", Value::String(TRACE.into())),
        Argument::new("span_id", Value::String(SPAN.into())),
        Argument::new("bytes", Value::Uint64(5)),
        Argument::new("big", Value::Uint64(u64::MAX)),
        Argument::new("ratio", Value::Double(0.5)),
        Argument::new("hit", Value::Bool(true)),
        Argument::new("none", Value::Null),
        Argument::new("span.kind", Value::String("server".into())),
        Argument::new("error", Value::String("timeout".into())),
    ];
    let data = exported(&[
        anchor(&anchor_argument),
        complete("before", 1, 5),
        event("request", 10, EventKind::DurationComplete { end: 50 }, &arguments),
        complete("parse", 20, 30),
        complete("after", 60, 70),
    ])
    .unwrap();
    let spans = spans(&data);
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(names, ["request", "parse"]);
    let (request, parse) = (spans[0], spans[1]);
    assert_eq!((hex(&request.trace_id), hex(&request.span_id)), (TRACE.into(), SPAN.into()));
    assert!(request.parent_span_id.is_empty());
    assert_eq!((request.start_time_unix_nano, request.end_time_unix_nano), (1010, 1050));
    assert_eq!((request.kind, request.status.as_ref().unwrap().code), (2, 2));
    let value = |key: &str| {
        let attribute = request.attributes.iter().find(|it| it.key == key).expect(key);
        attribute.value.as_ref().unwrap().value.clone()
    };
    assert_eq!(value("bytes"), Some(Any::IntValue(5)));
    assert_eq!(value("big"), Some(Any::StringValue(u64::MAX.to_string())));
    assert_eq!(value("ratio"), Some(Any::DoubleValue(0.5)));
    assert_eq!(value("hit"), Some(Any::BoolValue(true)));
    assert_eq!(value("none"), None);
    assert_eq!(value("category"), Some(Any::StringValue("cat".to_owned())));
    assert!(!request.attributes.iter().any(|it| it.key.contains("_id")), "{request:?}");
    assert_eq!((hex(&parse.trace_id), hex(&parse.parent_span_id)), (TRACE.into(), SPAN.into()));
    assert_eq!(parse.span_id.len(), 8);
}

/// They begin at one time, so that their order does not tell which is in which.
#[test]
fn a_span_is_in_the_request_around_it() {
    let anchor_argument = realtime();
    let other = TRACE.replace('4', "5");
    let [first, second] =
        [TRACE, other.as_str()].map(|id| [Argument::new("trace_id", Value::String(id.into()))]);
    let data = exported(&[
        anchor(&anchor_argument),
        event("first", 10, EventKind::DurationBegin, &first),
        event("child", 10, EventKind::DurationBegin, &[]),
        event("child", 10, EventKind::DurationEnd, &[]),
        event("first", 10, EventKind::DurationEnd, &[]),
        event("second", 10, EventKind::DurationBegin, &second),
        event("second", 20, EventKind::DurationEnd, &[]),
    ])
    .unwrap();
    let spans = spans(&data);
    let of = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    assert_eq!(of("child").trace_id, of("first").trace_id);
    assert_eq!(of("child").parent_span_id, of("first").span_id);
    assert_eq!(hex(&of("second").trace_id), other);
}

#[test]
fn an_operation_of_a_caller_is_exported() {
    let anchor_argument = realtime();
    let header = format!("00-{TRACE}-{SPAN}-01");
    let arguments = [Argument::new("traceparent", Value::String(header.as_str().into()))];
    let data = exported(&[
        anchor(&anchor_argument),
        event("load", 10, EventKind::AsyncBegin { id: 7 }, &arguments),
        event("load", 40, EventKind::AsyncEnd { id: 7 }, &[]),
    ])
    .unwrap();
    let spans = spans(&data);
    assert_eq!(spans.len(), 1);
    assert_eq!(hex(&spans[0].parent_span_id), SPAN);
    assert_eq!((spans[0].start_time_unix_nano, spans[0].end_time_unix_nano), (1010, 1040));
}

#[test]
fn what_cannot_be_exported_is_reported() {
    let message = |records: &[Record<'_>]| format!("{:#}", exported(records).unwrap_err());
    assert!(message(&[complete("a", 1, 2)]).contains("no span has a trace id"));
    let arguments = [Argument::new("trace_id", Value::String(TRACE.into()))];
    let request = event("a", 1, EventKind::DurationComplete { end: 2 }, &arguments);
    assert!(message(&[request]).contains("does not have the time of day"));
}
