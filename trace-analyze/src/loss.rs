//! Records that are missing, as an archive tells it.

use std::borrow::Cow;

use trace_format::notes::{Omission, Omitted, CATEGORY, OVERWRITTEN, RECORDS_DROPPED};
use trace_format::{Event, EventKind, Item, ThreadKoids, Value};

use crate::arguments;

/// Records that a thread could not write, from an event `records dropped` of
/// the category `trace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss<'a> {
    /// Whose records they are.
    pub thread: ThreadKoids,
    /// Why they are missing; empty if the event does not say.
    pub reason: Cow<'a, str>,
    /// How many they are.
    pub number: u64,
}

impl<'a> Loss<'a> {
    /// Returns what `event`, which is of `item`, says is missing; `None` if it
    /// is about something else.
    #[must_use]
    #[inline]
    pub fn of(item: &Item<'a>, event: &Event<'a>) -> Option<Self> {
        if !matches!(event.kind, EventKind::Instant { .. }) {
            return None;
        }
        if item.text(event.name) != RECORDS_DROPPED || item.text(event.category) != CATEGORY {
            return None;
        }
        Some(Self::from_arguments(item, event))
    }

    fn from_arguments(item: &Item<'a>, event: &Event<'a>) -> Self {
        let thread = item.thread(event.thread);
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

/// Returns how many rolling buffers of a circular buffer `event` says were
/// overwritten; `None` if it is about something else.
#[inline]
pub(crate) fn overwritten(item: &Item<'_>, event: &Event<'_>) -> Option<u64> {
    let is_instant = matches!(event.kind, EventKind::Instant { .. });
    if !is_instant || item.text(event.name) != OVERWRITTEN || item.text(event.category) != CATEGORY
    {
        return None;
    }
    event.arguments.iter().find_map(|argument| arguments::unsigned(item, argument.value))
}

/// Adds what `event` says was left out without a record being dropped.
#[inline]
pub(crate) fn add_omitted(omitted: &mut Omitted, item: &Item<'_>, event: &Event<'_>) {
    let is_instant = matches!(event.kind, EventKind::Instant { .. });
    if !is_instant || item.text(event.category) != CATEGORY {
        return;
    }
    let Some(omission) = Omission::of_event(&item.text(event.name)) else { return };
    let number =
        event.arguments.iter().find_map(|argument| arguments::unsigned(item, argument.value));
    if let Some(sum) = omitted.get_mut(omission as usize) {
        *sum = sum.saturating_add(number.unwrap_or(0));
    }
}
