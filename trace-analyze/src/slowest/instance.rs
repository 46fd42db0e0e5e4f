//! Durations and operations that are compared by length.

use serde_json::{json, Value as Json};
use trace_format::{Event, EventKind, Item, ThreadKoids};

use super::states::States;
use crate::catalog::{Catalog, LabelId};
use crate::spans::Role;
use crate::stats::Group;
use crate::{arguments, exact};

/// A duration or an async operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The category.
    pub category: String,
    /// The name.
    pub name: String,
    /// The id of an async operation, `None` for a duration.
    pub operation: Option<u64>,
    /// The part of a duration in an async operation.
    pub role: Role,
    /// The id of the async operation that a duration polls, if the archive has it.
    pub polled: Option<u64>,
    /// The thread of the begin.
    pub thread: ThreadKoids,
    /// The name of the process, empty if the archive has none.
    pub process_name: String,
    /// The name of the thread, empty if the archive has none.
    pub thread_name: String,
    /// The time of the begin, in nanoseconds of the provider's clock.
    pub begin_nanos: u64,
    /// The length, in nanoseconds, or `None` if the archive has no end.
    pub nanos: Option<u64>,
    /// The arguments by name, in the order of the archive.
    pub arguments: Vec<(String, Json)>,
    /// The states of the thread during a duration, see [`add_states`](super::add_states).
    pub states: Option<States>,
}

impl Instance {
    /// Returns the thread and its process with their names.
    #[must_use]
    pub fn group(&self) -> Group {
        Group {
            koids: self.thread,
            process_name: self.process_name.clone(),
            thread_name: self.thread_name.clone(),
            value: None,
        }
    }

    /// Returns the instance as a JSON object. Arguments of one name are an array.
    #[must_use]
    pub fn to_json(&self) -> Json {
        json!({
            "kind": if self.operation.is_some() { "async" } else { "duration" },
            "category": self.category,
            "name": self.name,
            "id": self.operation.map(exact),
            "role": self.role.as_str(),
            "polled_id": self.polled.map(exact),
            "process": exact(self.thread.process),
            "process_name": self.process_name,
            "thread": exact(self.thread.thread),
            "thread_name": self.thread_name,
            "begin_ns": self.begin_nanos,
            "length_ns": self.nanos,
            "arguments": arguments::to_object(&self.arguments),
            "states": self.states.as_ref().map(States::to_json),
        })
    }
}

/// The end of an instance without one.
const OPEN: u64 = u64::MAX;

/// The thread or the operation of an event, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Duration { thread: ThreadKoids, nanos: u64 },
    Operation { process: u64, id: u64, nanos: u64 },
}

impl Key {
    /// Returns the key of a begin or an end.
    pub(super) fn of(item: &Item<'_>, event: &Event<'_>) -> Option<Self> {
        let (thread, nanos) = (item.thread(event.thread), item.nanos(event.ticks));
        match event.kind {
            EventKind::DurationComplete { .. }
            | EventKind::DurationBegin
            | EventKind::DurationEnd => Some(Self::Duration { thread, nanos }),
            EventKind::AsyncBegin { id } | EventKind::AsyncEnd { id } => {
                Some(Self::Operation { process: thread.process, id, nanos })
            }
            _ => None,
        }
    }

    pub(super) fn at(self, time: u64) -> Self {
        match self {
            Self::Duration { thread, .. } => Self::Duration { thread, nanos: time },
            Self::Operation { process, id, .. } => Self::Operation { process, id, nanos: time },
        }
    }
}

/// An instance without its arguments. The order is by length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub(super) nanos: u64,
    pub(super) key: Key,
    pub(super) end: u64,
    pub(super) label: LabelId,
    pub(super) thread: ThreadKoids,
    pub(super) role: Role,
}

impl Found {
    /// Returns an instance without an end, which counts as longer than those with one.
    pub(super) fn open(key: Key, label: LabelId, thread: ThreadKoids, role: Role) -> Self {
        let (Key::Duration { nanos: begin, .. } | Key::Operation { nanos: begin, .. }) = key;
        Self { nanos: OPEN - begin, key, end: OPEN, label, thread, role }
    }

    /// Returns whether a time is between the begin and the end, or one of them.
    pub(super) fn lasts_at(&self, time: u64) -> bool {
        let (Key::Duration { nanos: begin, .. } | Key::Operation { nanos: begin, .. }) = self.key;
        (begin..=self.end).contains(&time)
    }

    /// Returns whether an event is at the begin or at the end, as its kind requires.
    pub(super) fn has_time_of(&self, item: &Item<'_>, event: &Event<'_>) -> bool {
        let (Key::Duration { nanos: begin, .. } | Key::Operation { nanos: begin, .. }) = self.key;
        let nanos = item.nanos(event.ticks);
        match event.kind {
            EventKind::DurationComplete { end } => nanos == begin && item.nanos(end) == self.end,
            kind if is_end(kind) => nanos == self.end,
            _ => nanos == begin,
        }
    }

    pub(super) fn instance(&self, catalog: &Catalog) -> Instance {
        let (operation, begin_nanos) = match self.key {
            Key::Duration { nanos, .. } => (None, nanos),
            Key::Operation { id, nanos, .. } => (Some(id), nanos),
        };
        Instance {
            category: catalog.category(self.label).to_owned(),
            name: catalog.name(self.label).to_owned(),
            operation,
            role: self.role,
            polled: None,
            thread: self.thread,
            process_name: catalog.process_name(self.thread.process).to_owned(),
            thread_name: catalog.thread_name(self.thread).to_owned(),
            begin_nanos,
            nanos: (self.end != OPEN).then_some(self.nanos),
            arguments: Vec::new(),
            states: None,
        }
    }
}

/// Returns whether events of this kind are ends.
pub(super) fn is_end(kind: EventKind) -> bool {
    matches!(kind, EventKind::DurationEnd | EventKind::AsyncEnd { .. })
}
