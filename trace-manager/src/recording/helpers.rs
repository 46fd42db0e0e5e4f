//! Helpers of the recorder that end while the session is stopped.
//!
//! One that ends while it records is reported with its last records. One that ends after them has
//! lost nothing unless the session starts again.

use std::collections::BTreeSet;
use std::mem;

use trace_format::notes::Omission;

use super::Recording;
use crate::machine::ProviderId;

/// The helpers of a session.
#[derive(Debug, Default)]
pub(super) struct Helpers {
    /// The connected ones.
    joined: BTreeSet<ProviderId>,
    /// Those that have disconnected since the session stopped.
    ended: Vec<ProviderId>,
    /// Those that had disconnected when the session started again.
    missing: Vec<ProviderId>,
}

impl Helpers {
    pub(super) fn join(&mut self, id: ProviderId) {
        self.joined.insert(id);
    }

    pub(super) fn disconnected(&mut self, id: ProviderId, is_stopped: bool) {
        if self.joined.remove(&id) && is_stopped {
            self.ended.push(id);
        }
    }

    pub(super) fn start_again(&mut self) {
        self.missing.append(&mut self.ended);
    }

    /// Returns the number of helpers that were missing when the session started again.
    pub(super) fn missing(&self) -> u64 {
        self.missing.len() as u64
    }
}

impl Recording {
    /// Adds the missing helpers to the summaries of what they have recorded.
    pub(super) fn summarize_helpers(&mut self) {
        for id in mem::take(&mut self.helpers.missing) {
            self.departed.omit(id, Omission::Helpers);
        }
    }
}
