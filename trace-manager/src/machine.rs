//! The state machines of sessions and providers, without I/O.
//!
//! A [`Coordinator`] takes [`Input`]s and gives back [`Output`]s; time is a number that the caller
//! passes in. Behind it stand two machines, each an enum with one transition function: [`Tracee`]
//! for each connected provider and [`Session`] for the session. They meet only here: the session
//! speaks to all of its tracees alike and learns no more of them than a [`TraceeCounts`]. [`Triggers`]
//! say what alerts do.
//!
//! ```text
//!            caller                      event loop
//!   Open Start Stop Terminate     Registered Provider(event) Tick
//!              \                        /
//!               v                      v
//!           +--------------------------------+
//!           | Coordinator:  Session            |
//!           |             Tracee Tracee ...  |
//!           +--------------------------------+
//!               |                      |
//!               v                      v
//!        State(SessionState)    Provider(action)
//! ```

mod coordinator;
mod save_sequence;
mod session;
#[cfg(test)]
mod tests;
mod tracee;
mod triggers;

pub use coordinator::{Coordinator, Input, Output, ProviderId};
pub use save_sequence::SaveRequest;
pub use session::{Session, SessionAction, SessionEvent, SessionState, TraceeCounts};
pub use tracee::{Tracee, TraceeAction, TraceeEvent, TraceeState};
pub use triggers::{Reaction, Trigger, TriggerAction, Triggers, MAX_SNAPSHOTS};

use std::fmt;
use std::time::Duration;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::error::ProtocolError;

/// A point in time: how long after a start that the caller chose.
pub type Time = Duration;

/// How long the manager waits for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the answer to a start; default 5 s. Then the session counts it as started.
    pub start: Duration,
    /// For the answer to a stop; default 5 s. Then what is in its buffer is taken as it is.
    pub stop: Duration,
    /// For the end of the packet socket after a terminate; default 5 s.
    pub terminate: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let five = Duration::from_secs(5);
        Self { start: five, stop: five, terminate: five }
    }
}

/// What a session asks of its providers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderConfig {
    /// What happens when a buffer fills.
    pub mode: BufferingMode,
    /// Category patterns; see [`trace_protocol::categories`].
    pub categories: Vec<String>,
    /// How long to wait for each.
    pub timeouts: Timeouts,
}

/// How a provider came to the end of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It was asked to terminate and did, or had stopped before.
    Terminated,
    /// It did not answer to stop or to terminate in time.
    TimedOut,
    /// It went away: the process ended, or closed its sockets.
    Disconnected,
    /// It broke the protocol and was cut off.
    CutOff(Violation),
}

impl End {
    /// Tells whether the provider's data is ignored: what it means is known only for a version of
    /// the protocol that is understood.
    pub fn ignores_data(&self) -> bool {
        matches!(self, Self::CutOff(Violation::PacketVersion(_)))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminated => write!(f, "stopped"),
            Self::TimedOut => write!(f, "did not answer to stop in time"),
            Self::Disconnected => write!(f, "ended before the session"),
            Self::CutOff(violation) => write!(f, "cut off: {violation}"),
        }
    }
}

/// How a provider broke the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// It sent what is no packet or message.
    Protocol(ProtocolError),
    /// It sent a packet or message that is not its turn, or not its to send.
    Unexpected(&'static str),
    /// It speaks another version of the packet protocol.
    PacketVersion(u32),
    /// It asked to save a buffer in a mode other than streaming.
    NotStreaming,
    /// It asked to save a buffer out of order.
    WrappedCount {
        /// The wrapped count whose turn it was.
        expected: u32,
        /// The wrapped count it asked for.
        found: u32,
    },
    /// It gave an end of durable data that went back, is no multiple of 8, or is out of range.
    DurableEnd {
        /// The end given before, in bytes.
        last: u64,
        /// The end it gave.
        found: u64,
    },
    /// It sent more than a provider has reason to.
    Flood,
    /// It does not read what it is sent.
    NotReading,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => error.fmt(f),
            Self::Unexpected(what) => write!(f, "sent {what} out of turn"),
            Self::PacketVersion(found) => {
                write!(f, "speaks version {found} of the packet protocol: expected version 1")
            }
            Self::NotStreaming => write!(f, "asked to save a buffer in a mode that saves none"),
            Self::WrappedCount { expected, found } => {
                write!(f, "asked to save buffer {found}: expected {expected}")
            }
            Self::DurableEnd { last, found } => write!(
                f,
                "gave {found} as end of its durable data: expected a multiple of 8 from {last} on, \
                 inside the buffer"
            ),
            Self::Flood => write!(f, "sent more than it has reason to"),
            Self::NotReading => write!(f, "does not read what it is sent"),
        }
    }
}
