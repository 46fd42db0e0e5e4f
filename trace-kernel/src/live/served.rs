//! The kernel's scheduling for users without permission for tracefs: a privileged helper creates
//! an instance for each connection, and passes descriptors of its pages.
//!
//! ```text
//! recorder (user)                       trace kernel-server (privileged)
//!   threads, events ────────────────────► are they the user's own? ──► instance
//!   pages of each CPU ◄──── descriptors ── (reading only)
//!   on, off ────────────────────────────► tracing_on
//!   end of the connection ──────────────► removes the instance
//! ```
//!
//! The recorder reads and parses the pages. The connection is the lease of the instance.

pub(super) mod address;
mod client;
mod message;
mod permission;
mod server;

use std::fmt;
use std::io;

pub use address::{Server, DEFAULT_SOCKET};
pub(super) use client::{Lease, Leased};
pub use server::serve;

use super::error::LiveError;

/// Why the privileged helper does not record for a user.
#[derive(Debug)]
pub enum ServeError {
    /// Standard input is not a connection.
    NoConnection(io::Error),
    /// The recorder sent no request in time.
    NoRequest,
    /// The request is malformed.
    Malformed,
    /// The connection failed.
    Connection(io::Error),
    /// The request has no threads.
    NoThreads,
    /// A thread belongs to another user.
    OtherUser(u64),
    /// A thread has ended, or its user is unknown.
    Thread(u64, io::Error),
    /// The user may not record this event.
    Event(String),
    /// The buffer is larger than permitted.
    Buffer(u64),
    /// The kernel cannot be traced.
    Live(LiveError),
}

impl From<LiveError> for ServeError {
    fn from(error: LiveError) -> Self {
        Self::Live(error)
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnection(error) => {
                write!(f, "standard input is not a connection of packets: {error}")
            }
            Self::NoRequest => write!(f, "there was no request in time"),
            Self::Malformed => write!(f, "the request is malformed"),
            Self::Connection(error) => write!(f, "the connection failed: {error}"),
            Self::NoThreads => write!(f, "the request has no threads"),
            Self::OtherUser(thread) => write!(f, "thread {thread} belongs to another user"),
            Self::Thread(thread, error) => write!(f, "thread {thread} has no user: {error}"),
            Self::Event(event) => write!(f, "users may not record the event {event}"),
            Self::Buffer(limit) => {
                write!(f, "the kernel's buffer of a CPU may have at most {} MiB", limit >> 20)
            }
            Self::Live(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Live(error) => error.source(),
            _ => None,
        }
    }
}
