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

mod config;
mod coordinator;
mod membership;
mod save_sequence;
mod session;
#[cfg(test)]
mod tests;
mod tracee;
mod triggers;

pub use crate::trigger::DurationWatch;
pub use config::{ProviderConfig, ProviderFilter, ProviderSpec, Timeouts};
pub use coordinator::{Coordinator, Input, Output, ProviderId, Registration};
pub use membership::Leaving;
pub use save_sequence::SaveRequest;
pub use session::{
    Session, SessionAction, SessionEvent, SessionNumber, SessionState, TraceeCounts,
};
pub use tracee::{Replies, Tracee, TraceeAction, TraceeEvent, TraceeState};
pub use triggers::{Reaction, Trigger, TriggerAction, Triggers};

use std::fmt;
use std::time::Duration;

use trace_format::notes::Omission;
use trace_protocol::error::ProtocolError;

/// A point in time: the duration since an origin that the caller chooses.
pub type Time = Duration;

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

    /// Returns whether the provider may record into its buffer while the rest of it is read.
    pub(crate) fn may_record(&self) -> bool {
        match self {
            Self::TimedOut | Self::CutOff(_) => true,
            Self::Terminated | Self::Disconnected => false,
        }
    }

    /// Returns the kind of data that is missing because of it. A helper of the recorder stops
    /// before it ends. A program may end at any time.
    pub(crate) fn omission(&self, is_helper: bool) -> Option<Omission> {
        match self {
            Self::TimedOut => Some(Omission::Unfinished),
            Self::CutOff(_) => Some(Omission::CutOff),
            Self::Disconnected if is_helper => Some(Omission::Helpers),
            Self::Terminated | Self::Disconnected => None,
        }
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
    /// It sent STREAMING for other rolling buffers than its buffer has.
    RollingBuffers {
        /// The wrapped count of the oldest one.
        first: u32,
        /// The wrapped count of the current one.
        current: u32,
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
    /// The programs of its user sent too many packets.
    UserFlood,
    /// It does not read its messages or packets.
    NotReading,
    /// So many descriptors that programs of its user passed cannot be closed that no more are
    /// received from its programs.
    Descriptors,
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
            Self::RollingBuffers { first, current } => write!(
                f,
                "sent STREAMING for wrapped counts {first} to {current}, which are not those of \
                 its rolling buffers"
            ),
            Self::DurableEnd { last, found } => write!(
                f,
                "sent {found} as the end of its durable data, which is not a multiple of 8 between \
                 {last} and the end of the buffer"
            ),
            Self::Flood => write!(f, "sent too many messages or packets"),
            Self::UserFlood => {
                write!(f, "is of a user whose programs together sent too many packets in a second")
            }
            Self::NotReading => write!(f, "does not read its messages"),
            Self::Descriptors => {
                write!(f, "is of a user whose programs passed descriptors that cannot be closed")
            }
            Self::Reported { text, .. } => text.fmt(f),
        }
    }
}
