//! The newest events of a thread, sorted by time.

use crate::catalog::LabelId;
use crate::spans::Role;

/// The most events in a window. If it is full, its older half is processed.
const EVENTS: usize = 16 << 10;

/// An event of a duration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<V> {
    /// Its time, in ticks.
    pub(super) at: u64,
    /// The time of its end, or `u64::MAX` for a begin.
    pub(super) end: u64,
    pub(super) label: LabelId,
    pub(super) kind: Kind,
    pub(super) role: Role,
    /// The caller's value.
    pub(super) value: V,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Complete,
    Begin,
    End,
    /// The role of the duration of this label that begins at this time.
    Mark,
}

#[derive(Debug)]
pub(super) struct Window<V> {
    entries: Vec<Entry<V>>,
    unsorted: bool,
}

impl<V> Default for Window<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), unsorted: false }
    }
}

impl<V> Window<V> {
    /// Adds an event, and returns whether the window is full.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<V>) -> bool {
        self.unsorted |= self.entries.last().is_some_and(|last| last.at > entry.at);
        self.entries.push(entry);
        self.entries.len() >= EVENTS
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Removes the older half, in order.
    pub(super) fn older_half(&mut self) -> std::vec::Drain<'_, Entry<V>> {
        self.sort();
        let half = self.entries.len().div_ceil(2);
        self.entries.drain(..half)
    }

    /// Removes all events, in order.
    pub(super) fn all(&mut self) -> std::vec::Drain<'_, Entry<V>> {
        self.sort();
        self.entries.drain(..)
    }

    /// Frees unused memory.
    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Sorts by time. Events of one time keep their order.
    fn sort(&mut self) {
        if std::mem::take(&mut self.unsorted) {
            self.entries.sort_by_key(|entry| entry.at);
        }
    }
}
