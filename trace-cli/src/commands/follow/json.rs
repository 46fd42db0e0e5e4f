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
        "type": type_name(event.kind),
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
    if let Some(id) = event.kind.id() {
        // JavaScript would round numbers beyond 2^53.
        value["id"] = format!("{id:#x}").into();
    }
    value
}

fn type_name(kind: EventKind) -> &'static str {
    match kind {
        // It has `duration_ns`, so it needs no end.
        EventKind::DurationComplete { .. } => "duration",
        kind => kind.name(),
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
