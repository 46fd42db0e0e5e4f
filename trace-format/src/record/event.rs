//! Event records.

use super::{Arguments, Text, Thread};
use crate::layout::{EventType, InstantScope};

/// An event of a thread ("Event Record").
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event<'a> {
    /// The time, in ticks of the provider's clock.
    pub ticks: u64,
    /// The thread.
    pub thread: Thread,
    /// The category.
    pub category: Text<'a>,
    /// The name.
    pub name: Text<'a>,
    /// The type.
    pub kind: EventKind,
    /// The arguments, at most 15.
    pub arguments: Arguments<'a>,
}

/// The type of an event, with the word that follows its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A point in time.
    Instant {
        /// The scope, or `None` if the record has no such word or an unknown scope.
        scope: Option<InstantScope>,
    },
    /// Samples of the values of the arguments.
    Counter {
        /// The counter's id, which distinguishes counters of the same name.
        id: u64,
    },
    /// The beginning of an operation on this thread.
    DurationBegin,
    /// The end of this thread's operation that began last.
    DurationEnd,
    /// An operation on this thread that begins at the event's time.
    DurationComplete {
        /// The end time, in ticks.
        end: u64,
    },
    /// The beginning of an async operation, which may span threads.
    AsyncBegin {
        /// The operation's id.
        id: u64,
    },
    /// A point in time of an async operation.
    AsyncInstant {
        /// The operation's id.
        id: u64,
    },
    /// The end of an async operation.
    AsyncEnd {
        /// The operation's id.
        id: u64,
    },
    /// The beginning of a flow, in the duration that encloses the event.
    FlowBegin {
        /// The flow's id.
        id: u64,
    },
    /// A step of a flow, in the duration that encloses the event.
    FlowStep {
        /// The flow's id.
        id: u64,
    },
    /// The end of a flow, in the duration that encloses the event.
    FlowEnd {
        /// The flow's id.
        id: u64,
    },
}

impl EventKind {
    /// Returns the name of the type, such as `duration-complete`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant { .. } => "instant",
            Self::Counter { .. } => "counter",
            Self::DurationBegin => "duration-begin",
            Self::DurationEnd => "duration-end",
            Self::DurationComplete { .. } => "duration-complete",
            Self::AsyncBegin { .. } => "async-begin",
            Self::AsyncInstant { .. } => "async-instant",
            Self::AsyncEnd { .. } => "async-end",
            Self::FlowBegin { .. } => "flow-begin",
            Self::FlowStep { .. } => "flow-step",
            Self::FlowEnd { .. } => "flow-end",
        }
    }

    /// Returns the id of a counter, an async operation or a flow.
    #[must_use]
    pub const fn id(self) -> Option<u64> {
        match self {
            Self::Counter { id }
            | Self::AsyncBegin { id }
            | Self::AsyncInstant { id }
            | Self::AsyncEnd { id }
            | Self::FlowBegin { id }
            | Self::FlowStep { id }
            | Self::FlowEnd { id } => Some(id),
            _ => None,
        }
    }

    /// Returns the type number, and the word after the arguments, if any.
    #[inline]
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
