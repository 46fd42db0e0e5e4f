//! Shares of the memory for the records that sessions retain.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::buffers::Share;
use crate::machine::{ProviderId, SessionNumber};

/// The memory for retained records, by session.
pub(super) type Shares = BTreeMap<SessionNumber, Share>;

/// A provider that is to stream as soon as there is memory for the records that its sessions, and
/// those that are to join it, retain from then on.
#[derive(Debug)]
pub(super) struct PendingStream {
    pub(super) id: ProviderId,
    pub(super) deadline: Instant,
    /// The number of shares of memory that had been freed at the last try.
    pub(super) freed: u64,
}
