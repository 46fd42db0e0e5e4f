//! The guard: a second process that completes the archive when the manager is killed.
//!
//! What the manager would take into its grave lies in memory that both processes hold: the
//! providers' buffers, the copies of rolling buffers on their way to the archive, and ledgers that
//! say how much of all this is in the archive. The manager hands the guard this memory and
//! otherwise never speaks to it: keeping the ledgers is a few stores. The guard sleeps until the
//! manager's end of the socket closes, and then looks.
//!
//! ```text
//!            manager                                      guard
//!  session, providers, copies  ---- socket, rarely --->  holds the memory
//!  ledgers: length, places     ...... memory ........>   reads them when the socket closes
//! ```
//!
//! | module | subject |
//! |---|---|
//! | `messages` | what travels over the socket |
//! | `ledger` | which numbers are kept |
//! | `guard` | the manager's side: what it hands over, and keeping the numbers |
//! | `pool` | the manager's side: where copies are made |
//! | `watch` | the guard's side while the manager lives |
//! | `completion` | the guard's side when the manager is dead |
//! | `remaining` | what a provider's memory still holds |

mod completion;
mod handle;
mod ledger;
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

/// A guard process, for one session: see [`Manager::start_guarded`](crate::Manager::start_guarded).
#[derive(Debug)]
pub struct Guard {
    socket: Socket,
}

impl Guard {
    /// Makes the two ends of a guard: one for the session, and one for the process that is to call
    /// [`run_guard`] with it. That process should outlive signals for the manager's group.
    ///
    /// # Errors
    ///
    /// When the process has no file descriptor left.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = Socket::packet_pair()?;
        ours.set_nonblocking(true);
        Ok((Self { socket: ours }, theirs.into()))
    }
}

/// What a guard had to do.
#[derive(Debug)]
pub enum GuardOutcome {
    /// The session ended by itself.
    Nothing,
    /// The manager died, and the archive is now complete.
    Completed {
        /// Where it is.
        archive: PathBuf,
        /// Rolling buffers that the manager had copied to where the guard could not see them.
        missing: u64,
    },
    /// The manager died, and the archive was a pipe or a socket, which ends where it ends.
    Stream,
    /// The manager died, and the archive could not be completed.
    Failed {
        /// Where the whole records are that were written.
        partial: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Is the guard at this end of [`Guard::pair`]: returns when the session is over, or the manager
/// dead and its archive completed.
pub fn run_guard(socket: OwnedFd) -> GuardOutcome {
    match state::GuardState::receive_all(&Socket::from(socket)) {
        Some(watched) => completion::complete(watched),
        None => GuardOutcome::Nothing,
    }
}
