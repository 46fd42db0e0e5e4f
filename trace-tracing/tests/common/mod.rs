//! Archives as text that is easy to compare.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::HashMap;
use std::path::Path;

use trace_format::record::{EventKind, Record, Value};
use trace_format::Reader;

/// An event of an archive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) category: String,
    pub(crate) name: String,
    /// `duration` (with its end), `begin` (without), `instant`, `async begin`, `async instant`,
    /// `async end`, or another word.
    pub(crate) kind: &'static str,
    pub(crate) ticks: u64,
    /// The end of a duration, or the id of an async event.
    pub(crate) tail: u64,
    pub(crate) thread: String,
    /// `key=value`, in their order.
    pub(crate) arguments: Vec<String>,
}

impl Event {
    /// `kind name key=value …`
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{} {}", self.kind, self.name);
        self.arguments.iter().for_each(|argument| line.push_str(&format!(" {argument}")));
        line
    }

    /// Returns the value of an argument.
    pub(crate) fn argument(&self, key: &str) -> Option<&str> {
        self.arguments.iter().find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='))
    }
}

/// Returns the events of an archive in order, without those of the tracing system itself, and its
/// log.
pub(crate) fn read(path: &Path) -> (Vec<Event>, Vec<String>) {
    let mut reader = Reader::new(std::fs::File::open(path).unwrap());
    let (mut events, mut log) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::Log(record) => log.push(String::from_utf8_lossy(record.message).into_owned()),
            Record::Event(event) => {
                let (kind, tail) = kind(&event.kind);
                let argument = |value: Value<'_>| match value {
                    Value::String(text) => item.text(text).to_string(),
                    Value::Int64(value) => value.to_string(),
                    Value::Uint64(value) => value.to_string(),
                    Value::Uint32(value) => value.to_string(),
                    other => format!("{other:?}"),
                };
                events.push(Event {
                    category: item.text(event.category).to_string(),
                    name: item.text(event.name).to_string(),
                    kind,
                    ticks: event.ticks,
                    tail,
                    thread: format!("{:?}", item.thread(event.thread)),
                    arguments: event
                        .arguments
                        .iter()
                        .map(|each| format!("{}={}", item.text(each.name), argument(each.value)))
                        .collect(),
                });
            }
            _ => {}
        }
    }
    events.retain(|event| event.category != "trace");
    (events, log)
}

fn kind(kind: &EventKind) -> (&'static str, u64) {
    match *kind {
        EventKind::DurationComplete { end } => ("duration", end),
        EventKind::DurationBegin => ("begin", 0),
        EventKind::Instant { .. } => ("instant", 0),
        EventKind::AsyncBegin { id } => ("async begin", id),
        EventKind::AsyncInstant { id } => ("async instant", id),
        EventKind::AsyncEnd { id } => ("async end", id),
        _ => ("other", 0),
    }
}

/// The lines of events.
pub(crate) fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::line).collect()
}

/// The events with this name.
pub(crate) fn named<'a>(events: &'a [Event], name: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.name == name).collect()
}

/// The events with this message.
pub(crate) fn with_message<'a>(events: &'a [Event], message: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.argument("message") == Some(message)).collect()
}

/// The only event with this message.
pub(crate) fn only_message<'a>(events: &'a [Event], message: &str) -> &'a Event {
    let found = with_message(events, message);
    assert_eq!(found.len(), 1, "{message} in {:#?}", lines(events));
    found[0]
}

/// The only event of this kind with this name.
pub(crate) fn only<'a>(events: &'a [Event], kind: &str, name: &str) -> &'a Event {
    let found: Vec<&Event> =
        events.iter().filter(|event| event.kind == kind && event.name == name).collect();
    assert_eq!(found.len(), 1, "{kind} {name} in {:#?}", lines(events));
    found[0]
}

/// Fails if two durations of one thread overlap without one being inside the other.
pub(crate) fn assert_nested(events: &[Event]) {
    let durations: Vec<&Event> = events.iter().filter(|event| event.kind == "duration").collect();
    for (place, first) in durations.iter().enumerate() {
        for second in &durations[place + 1..] {
            let same = first.thread == second.thread;
            let (outer, inner) =
                if first.ticks <= second.ticks { (first, second) } else { (second, first) };
            let nested = inner.ticks >= outer.tail || inner.tail <= outer.tail;
            assert!(!same || nested, "{} and {} overlap", first.line(), second.line());
        }
    }
}

/// Fails if a track does not begin once and end once, in this order.
pub(crate) fn assert_tracks(events: &[Event]) {
    let mut tracks: HashMap<u64, Vec<&Event>> = HashMap::new();
    for event in events.iter().filter(|event| event.kind.starts_with("async")) {
        tracks.entry(event.tail).or_default().push(event);
    }
    for track in tracks.values() {
        let only = |kind| {
            let found: Vec<_> = track.iter().filter(|event| event.kind == kind).collect();
            assert_eq!(found.len(), 1, "{kind} of {}", track[0].line());
            found[0]
        };
        let (begin, end) = (only("async begin"), only("async end"));
        assert_eq!(begin.name, end.name);
        assert!(begin.ticks <= end.ticks);
    }
}
