//! Processes that end.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::time::Instant;

use trace_protocol::socket::PeerCredentials;

use crate::machine::SessionNumber;

/// A process whose connection has ended.
#[derive(Debug)]
pub(super) struct EndingProcess {
    pub(super) process: OwnedFd,
    pub(super) peer: PeerCredentials,
    /// The sessions that recorded it and have the condition.
    pub(super) sessions: BTreeSet<SessionNumber>,
    pub(super) deadline: Instant,
}
