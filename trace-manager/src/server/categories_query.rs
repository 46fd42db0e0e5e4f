//! Queries of the caller that wait for replies of providers.

use std::collections::BTreeSet;
use std::time::Instant;

use crossbeam_channel::Sender;

use crate::machine::ProviderId;
use crate::query::Categories;

/// The queries that wait for the categories of the same providers.
#[derive(Debug)]
pub(super) struct CategoriesQuery {
    /// The providers that have not replied.
    pub(super) waiting: BTreeSet<ProviderId>,
    pub(super) deadline: Instant,
    pub(super) replies: Vec<Sender<Vec<Categories>>>,
}

impl CategoriesQuery {
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }
}
