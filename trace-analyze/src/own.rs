//! Events of the tracing system itself.

use trace_format::notes::{CATEGORY, CLOCK_ANCHOR, RESERVED};
use trace_format::{Event, EventKind, Item};

/// Returns whether the tracing system itself wrote an event.
#[inline]
pub fn is_own(item: &Item<'_>, event: &Event<'_>) -> bool {
    matches!(event.kind, EventKind::Instant { .. }) && has_own_category(item, event)
}

fn has_own_category(item: &Item<'_>, event: &Event<'_>) -> bool {
    item.text(event.category) == CATEGORY
}

/// Returns whether the writer of the archive added an event, and not a program. Such events are not
/// counted.
pub(crate) fn is_added(item: &Item<'_>, event: &Event<'_>) -> bool {
    is_own(item, event) && RESERVED.contains(&&*item.text(event.name))
}

/// Returns whether an event is a clock anchor, which relates the clock of the archive to others.
#[must_use]
pub fn is_clock_anchor(item: &Item<'_>, event: &Event<'_>) -> bool {
    is_own(item, event) && item.text(event.name) == CLOCK_ANCHOR
}
