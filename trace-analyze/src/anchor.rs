//! Events that relate the clocks of archives.

use trace_format::notes::{CATEGORY, CLOCK_ANCHOR};
use trace_format::{Event, EventKind, Item};

/// Tells whether an event is a clock anchor, which relates the clock of the archive to others.
#[must_use]
pub fn is_clock_anchor(item: &Item<'_>, event: &Event<'_>) -> bool {
    matches!(event.kind, EventKind::Instant { .. })
        && item.text(event.name) == CLOCK_ANCHOR
        && item.text(event.category) == CATEGORY
}
