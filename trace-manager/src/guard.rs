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
//! | `state` | the guard while the manager lives |
//! | `completion` | the guard when the manager is dead |
//! | `remaining` | the records of a provider that are not archived |
//!
//! The manager's side is `ledger`.

mod completion;
mod remaining;
mod state;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use trace_protocol::socket::Socket;

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

/// Runs the guard on this end of [`Guard::pair`](crate::Guard::pair). Returns when the session has
/// ended, or when the manager is dead and its archive completed.
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
