//! The roles of durations, from the arguments of events.

use trace_format::{Event, EventKind, Item, Value};

use super::Role;

/// Returns whether an event is the mark of a duration: see [`spans`](super#polls).
#[must_use]
pub fn is_mark(item: &Item<'_>, event: &Event<'_>) -> bool {
    matches!(event.kind, EventKind::AsyncInstant { .. }) && of(item, event) != Role::Duration
}

/// Returns the role of a duration, or the one that a mark gives.
#[inline]
pub(super) fn of(item: &Item<'_>, event: &Event<'_>) -> Role {
    match event.arguments.is_empty() {
        true => Role::Duration,
        false => of_arguments(item, event),
    }
}

fn of_arguments(item: &Item<'_>, event: &Event<'_>) -> Role {
    let (mut has_task, mut has_count, mut is_dropped) = (false, false, false);
    for argument in event.arguments.iter() {
        match &*item.text(argument.name) {
            "task" => has_task = true,
            "poll-count" => has_count = true,
            "poll-state" => {
                is_dropped =
                    matches!(argument.value, Value::String(text) if item.text(text) == "dropped");
            }
            _ => {}
        }
    }
    let is_mark = matches!(event.kind, EventKind::AsyncInstant { .. });
    match () {
        () if is_mark && is_dropped => Role::Drop,
        () if has_count && (is_mark || has_task) => Role::Poll,
        () => Role::Duration,
    }
}
