//! A query of the caller that waits for replies of providers.

use std::collections::BTreeSet;
use std::time::Instant;

use crossbeam_channel::Sender;
use trace_protocol::message::CategoryInfo;

use crate::machine::ProviderId;

/// A query that waits for the providers' categories.
#[derive(Debug)]
pub(super) struct CategoriesQuery {
    /// The providers that have not replied.
    pub(super) waiting: BTreeSet<ProviderId>,
    pub(super) deadline: Instant,
    pub(super) reply: Sender<Vec<CategoryInfo>>,
}

impl CategoriesQuery {
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }
}
