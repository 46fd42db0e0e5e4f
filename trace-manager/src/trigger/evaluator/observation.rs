//! The parts of events that conditions compare.

use crate::trigger::counter::Key;
use crate::trigger::scopes::Owner;

/// The part of an event that a condition compares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    /// The event's time.
    pub(super) nanos: u64,
    /// The index of the condition; `None` for all.
    pub(super) condition: Option<usize>,
    pub(super) observed: Observed,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Observed {
    /// A value of a counter.
    Value { key: Key, value: f64 },
    /// The begin of a scope, an asynchronous operation or a flow.
    Begin(Owner),
    /// The begin of a poll, which does not count.
    BeginPoll(Owner),
    /// The end of what began last.
    End(Owner),
    /// A scope from the event's time to `end`.
    Complete { end: u64 },
    /// The loss of records of a thread, or of several ones.
    Lost(Option<Owner>),
}
