//! The newest events of a thread, put in the order of their times.

use crate::catalog::LabelId;

/// The most events in a window; when it is full, the older half leaves it.
const EVENTS: usize = 16 << 10;

/// An event that a duration is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Its time, in ticks.
    pub(super) at: u64,
    /// When it ends; of a begin `u64::MAX`.
    pub(super) end: u64,
    pub(super) label: LabelId,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Complete,
    Begin,
    End,
}

#[derive(Debug, Default)]
pub(super) struct Window {
    entries: Vec<Entry>,
    unsorted: bool,
}

impl Window {
    /// Adds an event; tells whether the window is full then.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry) -> bool {
        self.unsorted |= self.entries.last().is_some_and(|last| last.at > entry.at);
        self.entries.push(entry);
        self.entries.len() >= EVENTS
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Hands over the older half, in order.
    pub(super) fn older_half(&mut self) -> std::vec::Drain<'_, Entry> {
        self.sort();
        let half = self.entries.len().div_ceil(2);
        self.entries.drain(..half)
    }

    /// Hands over all, in order.
    pub(super) fn all(&mut self) -> std::vec::Drain<'_, Entry> {
        self.sort();
        self.entries.drain(..)
    }

    /// Gives memory back that is not needed now.
    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Sorts by time; events of the same time keep their order.
    fn sort(&mut self) {
        if std::mem::take(&mut self.unsorted) {
            self.entries.sort_by_key(|entry| entry.at);
        }
    }
}
