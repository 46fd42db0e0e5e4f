//! Durations that begin before a slice, whose marks belong to the slice.

use std::collections::HashSet;

use trace_analyze::catalog::{Catalog, LabelId};
use trace_analyze::spans::is_mark;
use trace_format::{Event, Item, Record, ThreadKoids};

/// The most durations. Only those that are open when the slice begins count, so that a real program
/// has fewer.
const MAX_DURATIONS: usize = 1 << 18;

/// Durations of a slice that begin before it.
#[derive(Debug, Default)]
pub(super) struct DurationsBefore {
    /// Thread, time of the begin in nanoseconds, category and name.
    begins: HashSet<(ThreadKoids, u64, String, String)>,
}

impl DurationsBefore {
    pub(super) fn add(&mut self, catalog: &Catalog, thread: ThreadKoids, at: u64, label: LabelId) {
        if self.begins.len() < MAX_DURATIONS {
            let text = str::to_owned;
            let label = (text(catalog.category(label)), text(catalog.name(label)));
            self.begins.insert((thread, at, label.0, label.1));
        }
    }

    /// Returns whether a record is the mark of one of the durations.
    pub(super) fn has_mark(&self, item: &Item<'_>) -> bool {
        match &item.record {
            Record::Event(event) => !self.begins.is_empty() && self.has_mark_of(item, event),
            _ => false,
        }
    }

    fn has_mark_of(&self, item: &Item<'_>, event: &Event<'_>) -> bool {
        let text = |text| item.text(text).into_owned();
        is_mark(item, event)
            && self.begins.contains(&(
                item.thread(event.thread),
                item.nanos(event.ticks),
                text(event.category),
                text(event.name),
            ))
    }
}
