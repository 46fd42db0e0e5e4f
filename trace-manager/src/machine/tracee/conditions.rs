//! The conditions that a provider compares.

use std::collections::BTreeSet;

use trace_protocol::message::DurationLimit;

/// The conditions that a provider compares in its buffer.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    /// The last ones that it got.
    limits: Vec<DurationLimit>,
    /// The numbers of all that it got. Packets about earlier ones may be under way.
    requested: BTreeSet<u32>,
    /// The numbers of those that it compares since its last start.
    watched: BTreeSet<u32>,
}

impl Conditions {
    /// Replaces the conditions. Returns whether they have changed.
    pub(super) fn request(&mut self, limits: &[DurationLimit]) -> bool {
        let has_changed = self.limits != limits;
        self.limits = limits.to_vec();
        self.requested.extend(limits.iter().map(|limit| limit.number));
        has_changed
    }

    /// Handles a start, after which the provider reports again what it compares.
    pub(super) fn start(&mut self) {
        self.watched.clear();
    }

    /// Handles the report that it compares a condition. Returns whether the report is valid: it is
    /// of a condition that the provider got, and the first one.
    pub(super) fn watch(&mut self, number: u32) -> bool {
        self.requested.contains(&number) && self.watched.insert(number)
    }

    pub(super) fn is_watched(&self, number: u32) -> bool {
        self.watched.contains(&number)
    }
}
