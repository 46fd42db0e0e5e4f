//! Missing data, as events of the tracing system report it.

use std::borrow::Cow;

use trace_format::layout::InstantScope;
use trace_format::notes::{Omission, Omitted, INTERRUPTED, OVERWRITTEN, RECORDS_DROPPED};
use trace_format::{Event, EventKind, Item, ThreadKoids, Value};

use crate::arguments;
use crate::own::is_own;

/// Records that a thread could not write, from an event `records dropped` of
/// the category `trace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss<'a> {
    /// The thread. Its koid is 0 for several threads of the process.
    pub thread: ThreadKoids,
    /// The reason, or an empty string if the event has none.
    pub reason: Cow<'a, str>,
    /// The number of records.
    pub number: u64,
}

impl<'a> Loss<'a> {
    /// Returns the loss that an event of `item` reports, or `None` if it reports none.
    #[must_use]
    #[inline]
    pub fn of(item: &Item<'a>, event: &Event<'a>) -> Option<Self> {
        let is_loss = is_own(item, event) && item.text(event.name) == RECORDS_DROPPED;
        is_loss.then(|| Self::from_arguments(item, event))
    }

    fn from_arguments(item: &Item<'a>, event: &Event<'a>) -> Self {
        let thread = thread(item, event);
        let mut loss = Self { thread, reason: Cow::Borrowed(""), number: 0 };
        for argument in &event.arguments {
            match (&*item.text(argument.name), argument.value) {
                ("reason", Value::String(reason)) => loss.reason = item.text(reason),
                ("number", number) => loss.number = arguments::unsigned(item, number).unwrap_or(0),
                _ => {}
            }
        }
        loss
    }
}

/// A time in which records are missing, in ticks, from an event `records dropped` or `recording
/// interrupted` of the category `trace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub to: u64,
}

impl Gap {
    /// Returns the gap that an event of `item` reports, or `None` if it reports none.
    #[must_use]
    #[inline]
    pub fn of(item: &Item<'_>, event: &Event<'_>) -> Option<Self> {
        let is_gap = || matches!(&*item.text(event.name), RECORDS_DROPPED | INTERRUPTED);
        (is_own(item, event) && is_gap()).then(|| {
            let ticks = |name| arguments::named_unsigned(item, &event.arguments, name);
            let to = ticks("to").unwrap_or(event.ticks);
            Self { from: ticks("from").unwrap_or(to).min(to), to }
        })
    }

    /// Returns the time in which a provider recorded nothing while it got a new buffer, as during a
    /// pause, or `None` if the event reports none.
    #[must_use]
    pub fn of_interruption(item: &Item<'_>, event: &Event<'_>) -> Option<Self> {
        Self::of(item, event).filter(|_| item.text(event.name) == INTERRUPTED)
    }
}

/// Returns the thread of a loss. An event with the scope of the process reports a loss of several
/// threads.
fn thread(item: &Item<'_>, event: &Event<'_>) -> ThreadKoids {
    let thread = item.thread(event.thread);
    match event.kind {
        EventKind::Instant { scope: Some(InstantScope::Process) } => {
            ThreadKoids::new(thread.process, 0)
        }
        _ => thread,
    }
}

/// Returns the number of overwritten rolling buffers that an own event of the tracing system
/// reports, or `None` if it reports none.
pub(crate) fn overwritten(item: &Item<'_>, event: &Event<'_>) -> Option<u64> {
    let is_overwritten = item.text(event.name) == OVERWRITTEN;
    is_overwritten.then(|| first_number(item, event)).flatten()
}

/// Adds the omitted data that an own event of the tracing system reports.
pub(crate) fn add_omitted(omitted: &mut Omitted, item: &Item<'_>, event: &Event<'_>) {
    let Some(omission) = Omission::of_event(&item.text(event.name)) else { return };
    let number = match omission {
        Omission::Interruptions => 1,
        _ => first_number(item, event).unwrap_or(0),
    };
    if let Some(sum) = omitted.get_mut(omission as usize) {
        *sum = sum.saturating_add(number);
    }
}

fn first_number(item: &Item<'_>, event: &Event<'_>) -> Option<u64> {
    event.arguments.iter().find_map(|argument| arguments::unsigned(item, argument.value))
}
