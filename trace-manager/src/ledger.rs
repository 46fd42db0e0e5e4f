//! The manager's side of the guard: what the guard needs of a session, in shared memory.
//!
//! | module | subject |
//! |---|---|
//! | `messages` | the messages of the socket |
//! | `numbers` | the numbers of a ledger |
//! | `link` | the manager's socket to the guard |
//! | `handle` | sending memory, and updating ledgers |
//! | `slot_pool` | memory for copies |

mod handle;
mod link;
pub(crate) mod messages;
pub(crate) mod numbers;
mod slot_pool;

use std::io;
use std::os::fd::OwnedFd;

use trace_protocol::socket::Socket;

pub(crate) use handle::{GuardHandle, JoinedProvider, ProviderLedger};
pub(crate) use numbers::LedgerUpdate;
pub(crate) use slot_pool::SlotPool;

/// The session's end of a guard process: see
/// [`Manager::start_guarded`](crate::Manager::start_guarded).
#[derive(Debug)]
pub struct Guard {
    socket: Socket,
}

impl Guard {
    /// Creates the two ends of a guard: one for the session, and one for the process that calls
    /// [`run_guard`](crate::run_guard) with it. Signals for the manager's process group should not
    /// reach that process.
    ///
    /// # Errors
    ///
    /// If the process has no free file descriptor.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = Socket::packet_pair()?;
        ours.set_nonblocking(true);
        Ok((Self { socket: ours }, theirs.into()))
    }
}
