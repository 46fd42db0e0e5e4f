//! The state machines of sessions and providers, without I/O.
//!
//! A [`Coordinator`] takes [`Input`]s and returns [`Output`]s; the caller passes the time. It has
//! two machines, each an enum with one transition function: a [`Tracee`] for each connected
//! provider, and a [`Session`] for each session. They interact only through the coordinator: the
//! states of the sessions decide what each provider should do, and sessions get [`TraceeCounts`].
//! [`Triggers`] are the effects of alerts.
//!
//! ```text
//!            caller                      event loop
//!   Open Start Stop Terminate     Registered Provider(event) Tick
//!              \                        /
//!               v                      v
//!           +--------------------------------+
//!           | Coordinator: Session Session … |
//!           |              Tracee Tracee ... |
//!           +--------------------------------+
//!               |                      |
//!               v                      v
//!        State(SessionState)    Provider(action), Join, Leave
//! ```

mod coordinator;
mod membership;
mod save_sequence;
mod session;
#[cfg(test)]
mod tests;
mod tracee;
mod triggers;

pub use coordinator::{Coordinator, Input, Output, ProviderId};
pub use save_sequence::SaveRequest;
pub use session::{
    Session, SessionAction, SessionEvent, SessionNumber, SessionState, TraceeCounts,
};
pub use tracee::{Tracee, TraceeAction, TraceeEvent, TraceeState};
pub use triggers::{Reaction, Trigger, TriggerAction, Triggers};

use std::fmt;
use std::time::Duration;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::error::ProtocolError;

/// A point in time: the duration since an origin that the caller chooses.
pub type Time = Duration;

/// The time for which the manager waits for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the reply to Start; default 5 s. Then the session treats the provider as started.
    pub start: Duration,
    /// For the reply to Stop; default 5 s. Then the buffer is read as it is.
    pub stop: Duration,
    /// For the end of the packet socket after Terminate; default 5 s.
    pub terminate: Duration,
}

impl Timeouts {
    /// Returns the longer of each.
    fn max(self, other: Self) -> Self {
        Self {
            start: self.start.max(other.start),
            stop: self.stop.max(other.stop),
            terminate: self.terminate.max(other.terminate),
        }
    }

    /// Returns the time-outs, each reduced to `limit`.
    pub(crate) fn at_most(self, limit: Duration) -> Self {
        Self {
            start: self.start.min(limit),
            stop: self.stop.min(limit),
            terminate: self.terminate.min(limit),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let five = Duration::from_secs(5);
        Self { start: five, stop: five, terminate: five }
    }
}

/// The configuration that a session sends to its providers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderConfig {
    /// The behavior of a full buffer.
    pub mode: BufferingMode,
    /// Category patterns; see [`trace_protocol::categories`].
    pub categories: Vec<String>,
    /// The size of each provider's buffer in bytes.
    pub buffer_size: u64,
    /// The time to wait for each provider.
    pub timeouts: Timeouts,
    /// The user whose providers take part; `None` for all users.
    pub user: Option<u32>,
}

impl ProviderConfig {
    /// Returns the configuration of providers that several sessions share: they stream into the
    /// largest buffer, with the longest timeouts. It has no categories.
    fn combine<'a>(configs: impl Iterator<Item = &'a Self>) -> Self {
        let none = Self { mode: BufferingMode::Streaming, ..Self::default() };
        configs.fold(none, |combined, config| Self {
            buffer_size: combined.buffer_size.max(config.buffer_size),
            timeouts: combined.timeouts.max(config.timeouts),
            ..combined
        })
    }
}

/// How a provider's session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It terminated on request, or had stopped before.
    Terminated,
    /// It did not reply to Stop or Terminate in time.
    TimedOut,
    /// Its process ended, or closed its sockets.
    Disconnected,
    /// It violated the protocol, and the manager closed its connection.
    CutOff(Violation),
}

impl End {
    /// Returns whether the provider's data is ignored, because its version of the protocol is
    /// unknown.
    pub fn ignores_data(&self) -> bool {
        matches!(
            self,
            Self::CutOff(
                Violation::PacketVersion(_) | Violation::Reported { ignores_data: true, .. }
            )
        )
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

/// A violation of the protocol by a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// It sent a malformed packet or message.
    Protocol(ProtocolError),
    /// It sent a packet or message that is not valid in its state, or not valid for providers.
    Unexpected(&'static str),
    /// It uses another version of the packet protocol.
    PacketVersion(u32),
    /// It sent SAVE_BUFFER in a mode other than streaming.
    NotStreaming,
    /// It sent SAVE_BUFFER out of order.
    WrappedCount {
        /// The next wrapped count.
        expected: u32,
        /// The wrapped count that it sent.
        found: u32,
    },
    /// It sent an end of durable data that decreased, is not a multiple of 8, or is out of range.
    DurableEnd {
        /// The previous end, in bytes.
        last: u64,
        /// The end that it sent, in bytes.
        found: u64,
    },
    /// It sent too many messages or packets.
    Flood,
    /// It does not read its messages or packets.
    NotReading,
    /// A daemon has reported the violation.
    Reported {
        /// The violation in words.
        text: String,
        /// Whether the provider's data is ignored.
        ignores_data: bool,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(error) => error.fmt(f),
            Self::Unexpected(what) => write!(f, "sent {what} unexpectedly"),
            Self::PacketVersion(found) => {
                write!(f, "uses version {found} of the packet protocol instead of version 1")
            }
            Self::NotStreaming => write!(f, "sent SAVE_BUFFER in a mode other than streaming"),
            Self::WrappedCount { expected, found } => {
                write!(f, "sent SAVE_BUFFER for wrapped count {found} instead of {expected}")
            }
            Self::DurableEnd { last, found } => write!(
                f,
                "sent {found} as the end of its durable data, which is not a multiple of 8 between \
                 {last} and the end of the buffer"
            ),
            Self::Flood => write!(f, "sent too many messages or packets"),
            Self::NotReading => write!(f, "does not read its messages"),
            Self::Reported { text, .. } => text.fmt(f),
        }
    }
}
