//! A record as a line of JSON.

use serde_json::{json, Map, Value as Json};
use trace_analyze::arguments;
use trace_format::{Event, EventKind, Item, Record};

use crate::live::Threads;

/// Appends a record as JSON, without a line break.
pub(super) fn line(output: &mut String, item: &Item<'_>, threads: &Threads) {
    let mut value = match &item.record {
        Record::Event(event) => event_json(item, event, threads),
        Record::Log(log) => json!({
            "type": "log",
            "time_ns": item.nanos(log.ticks),
            "message": String::from_utf8_lossy(log.message),
        }),
        record => json!({ "type": "other", "record": record_name(record) }),
    };
    value["provider"] = item.provider.name().into();
    output.push_str(&value.to_string());
}

fn event_json(item: &Item<'_>, event: &Event<'_>, threads: &Threads) -> Json {
    let koids = item.thread(event.thread);
    let arguments = event.arguments.iter().map(|argument| {
        (item.text(argument.name).into_owned(), arguments::to_json(item, argument.value))
    });
    let mut value = json!({
        "type": kind(event.kind),
        "time_ns": item.nanos(event.ticks),
        "process": koids.process,
        "thread": koids.thread,
        "category": item.text(event.category),
        "name": item.text(event.name),
        "arguments": arguments.collect::<Map<_, _>>(),
    });
    if let Some(name) = threads.name(koids.thread) {
        value["thread_name"] = name.into();
    }
    if let EventKind::DurationComplete { end } = event.kind {
        value["duration_ns"] = item.nanos(end).saturating_sub(item.nanos(event.ticks)).into();
    }
    if let Some(id) = id(event.kind) {
        // JavaScript would round numbers beyond 2^53.
        value["id"] = format!("{id:#x}").into();
    }
    value
}

fn kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Instant { .. } => "instant",
        EventKind::Counter { .. } => "counter",
        EventKind::DurationBegin => "duration-begin",
        EventKind::DurationEnd => "duration-end",
        EventKind::DurationComplete { .. } => "duration",
        EventKind::AsyncBegin { .. } => "async-begin",
        EventKind::AsyncInstant { .. } => "async-instant",
        EventKind::AsyncEnd { .. } => "async-end",
        EventKind::FlowBegin { .. } => "flow-begin",
        EventKind::FlowStep { .. } => "flow-step",
        EventKind::FlowEnd { .. } => "flow-end",
    }
}

fn id(kind: EventKind) -> Option<u64> {
    match kind {
        EventKind::Counter { id }
        | EventKind::AsyncBegin { id }
        | EventKind::AsyncInstant { id }
        | EventKind::AsyncEnd { id }
        | EventKind::FlowBegin { id }
        | EventKind::FlowStep { id }
        | EventKind::FlowEnd { id } => Some(id),
        _ => None,
    }
}

fn record_name(record: &Record<'_>) -> &'static str {
    match record {
        Record::Blob(_) => "blob",
        Record::LargeBlob(_) => "large blob",
        Record::ContextSwitch(_) => "context switch",
        Record::ThreadWakeup(_) => "thread wakeup",
        _ => "other",
    }
}
