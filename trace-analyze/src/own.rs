//! Events of the tracing system itself.

use trace_format::layout::InstantScope;
use trace_format::notes::{CATEGORY, CLOCK_ANCHOR, RESERVED};
use trace_format::{Event, EventKind, Item, Value};

use crate::arguments;

/// The clocks of an anchor.
const CLOCKS: [&str; 3] = ["realtime_ns", "monotonic_ns", "boottime_ns"];

/// Returns whether the tracing system itself wrote an event.
#[inline]
pub fn is_own(item: &Item<'_>, event: &Event<'_>) -> bool {
    matches!(event.kind, EventKind::Instant { .. }) && has_own_category(item, event)
}

fn has_own_category(item: &Item<'_>, event: &Event<'_>) -> bool {
    item.text(event.category) == CATEGORY
}

/// Returns whether the writer of the archive added an event, and not a program. Such events are not
/// counted as events.
#[must_use]
pub fn is_added(item: &Item<'_>, event: &Event<'_>) -> bool {
    is_own(item, event) && RESERVED.contains(&&*item.text(event.name))
}

/// Returns whether an event is a clock anchor, which relates the clock of the archive to others.
#[must_use]
pub fn is_clock_anchor(item: &Item<'_>, event: &Event<'_>) -> bool {
    is_own(item, event) && item.text(event.name) == CLOCK_ANCHOR
}

/// Returns whether a clock anchor has the form of the archive's writer: global, of a provider, and
/// with all clocks. Other formats may have instants of the same name; those that are made of JSON
/// have large integers as strings.
pub(crate) fn is_written_anchor(item: &Item<'_>, event: &Event<'_>) -> bool {
    let has = |clock: &&str| {
        let mut values = arguments::named(item, &event.arguments, clock);
        values.any(|value| matches!(value, Value::Uint64(_)))
    };
    event.kind == EventKind::Instant { scope: Some(InstantScope::Global) }
        && item.provider.id().is_some()
        && is_clock_anchor(item, event)
        && CLOCKS.iter().all(has)
}
