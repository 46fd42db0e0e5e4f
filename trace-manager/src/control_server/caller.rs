//! A controller, as the kernel describes it.

use trace_protocol::socket::PeerCredentials;

/// A controller, and what it may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::control_server) struct Caller {
    pub(in crate::control_server) peer: PeerCredentials,
    /// Whether it sees and records the programs of all users, as root and the members of the
    /// socket's group do.
    pub(in crate::control_server) all_users: bool,
}

impl Caller {
    /// Returns the user whose programs it sees and records; `None` for all.
    pub(in crate::control_server) fn programs_of(self) -> Option<u32> {
        (!self.all_users).then_some(self.peer.uid)
    }
}
