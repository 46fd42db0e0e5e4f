//! Event records.

use super::{Arguments, Text, Thread};
use crate::layout::{EventType, InstantScope};

/// Something that happened on a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event<'a> {
    /// When it happened, in ticks of its provider.
    pub ticks: u64,
    /// Where it happened.
    pub thread: Thread,
    /// Its category.
    pub category: Text<'a>,
    /// Its name.
    pub name: Text<'a>,
    /// What it is.
    pub kind: EventKind,
    /// More about it, at most 15.
    pub arguments: Arguments<'a>,
}

/// What an event is, with the word that only this type of event has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A moment.
    Instant {
        /// How far it reaches; `None` where the record has no such word, or
        /// one that is not known.
        scope: Option<InstantScope>,
    },
    /// Samples of the values that the arguments say.
    Counter {
        /// Tells counters with the same name apart.
        id: u64,
    },
    /// The beginning of an operation.
    DurationBegin,
    /// The end of the operation on this thread that began last.
    DurationEnd,
    /// An operation; the event's time is its beginning.
    DurationComplete {
        /// When it ended, in ticks.
        end: u64,
    },
    /// The beginning of an operation across threads.
    AsyncBegin {
        /// The operation.
        id: u64,
    },
    /// A moment in an operation across threads.
    AsyncInstant {
        /// The operation.
        id: u64,
    },
    /// The end of an operation across threads.
    AsyncEnd {
        /// The operation.
        id: u64,
    },
    /// The start of an arrow, at the duration this event is in.
    FlowBegin {
        /// The arrow.
        id: u64,
    },
    /// A point on an arrow's way, at the duration this event is in.
    FlowStep {
        /// The arrow.
        id: u64,
    },
    /// The end of an arrow, at the duration this event is in.
    FlowEnd {
        /// The arrow.
        id: u64,
    },
}

impl EventKind {
    /// Returns the type number and the word behind the arguments, if any.
    pub(crate) fn stored(self) -> (EventType, Option<u64>) {
        match self {
            Self::Instant { scope } => (EventType::Instant, scope.map(InstantScope::bits)),
            Self::Counter { id } => (EventType::Counter, Some(id)),
            Self::DurationBegin => (EventType::DurationBegin, None),
            Self::DurationEnd => (EventType::DurationEnd, None),
            Self::DurationComplete { end } => (EventType::DurationComplete, Some(end)),
            Self::AsyncBegin { id } => (EventType::AsyncBegin, Some(id)),
            Self::AsyncInstant { id } => (EventType::AsyncInstant, Some(id)),
            Self::AsyncEnd { id } => (EventType::AsyncEnd, Some(id)),
            Self::FlowBegin { id } => (EventType::FlowBegin, Some(id)),
            Self::FlowStep { id } => (EventType::FlowStep, Some(id)),
            Self::FlowEnd { id } => (EventType::FlowEnd, Some(id)),
        }
    }
}
