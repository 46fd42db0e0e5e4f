//! The guard: a second process that completes the archive if the manager is killed.
//!
//! Both processes share the memory that the guard needs: the providers' buffers, the copies of
//! rolling buffers that are not archived yet, and ledgers that count what is archived. The manager
//! sends the guard this memory and otherwise does not communicate with it: a ledger is updated by a
//! few stores. The guard sleeps until the manager's end of the socket closes, and then reads the
//! memory.
//!
//! ```text
//!            manager                                      guard
//!  session, providers, copies  ---- socket, rarely --->  keeps the memory
//!  ledgers: length, offsets    ...... memory ........>   reads them when the socket closes
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `messages` | the messages of the socket |
//! | `ledger` | the numbers of a ledger |
//! | `link` | the manager's socket to the guard |
//! | `handle` | the manager's side: sending memory, and updating ledgers |
//! | `slot_pool` | the manager's side: memory for copies |
//! | `state` | the guard's side while the manager lives |
//! | `completion` | the guard's side when the manager is dead |
//! | `remaining` | the records of a provider that are not archived |

mod completion;
mod handle;
mod ledger;
mod link;
mod messages;
mod remaining;
mod slot_pool;
mod state;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use trace_protocol::socket::Socket;

pub(crate) use handle::{GuardHandle, JoinedProvider, ProviderLedger};
pub(crate) use ledger::LedgerUpdate;
pub(crate) use slot_pool::SlotPool;

/// The session's end of a guard process: see
/// [`Manager::start_guarded`](crate::Manager::start_guarded).
#[derive(Debug)]
pub struct Guard {
    socket: Socket,
}

impl Guard {
    /// Creates the two ends of a guard: one for the session, and one for the process that calls
    /// [`run_guard`] with it. Signals for the manager's process group should not reach that
    /// process.
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

/// The result of a guard.
#[derive(Debug)]
pub enum GuardOutcome {
    /// The session ended without the guard, or the archive has no records and does not replace an
    /// earlier one.
    Nothing,
    /// The manager died, and the archive is now complete.
    Completed {
        /// Its path.
        archive: PathBuf,
        /// Copies of rolling buffers, at most, that were lost, because they were in the manager's
        /// own memory.
        missing: u64,
    },
    /// The manager died, and the archive is a pipe or a socket, which cannot be completed.
    Stream,
    /// The manager died, and the archive could not be completed.
    Failed {
        /// The path of the partial archive, which has complete records.
        partial: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
}

/// Runs the guard on this end of [`Guard::pair`]. Returns when the session has ended, or when the
/// manager is dead and its archive completed.
pub fn run_guard(socket: OwnedFd) -> GuardOutcome {
    run_guard_with(socket, || {})
}

/// Runs the guard as [`run_guard`] does. Calls `on_death` as soon as it notices that the manager
/// has died before the end of the session.
pub fn run_guard_with(socket: OwnedFd, on_death: impl FnOnce()) -> GuardOutcome {
    match state::GuardState::receive_all(&Socket::from(socket)) {
        Some(watched) => {
            if watched.is_running() {
                on_death();
            }
            completion::complete(watched)
        }
        None => GuardOutcome::Nothing,
    }
}
