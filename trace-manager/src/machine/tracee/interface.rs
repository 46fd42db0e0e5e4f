//! The states, events and actions of a provider.

use trace_protocol::message::{DurationLimit, StartOptions, ToProvider};
use trace_protocol::packet::{AlertName, Packet};

use crate::machine::{End, ProviderConfig, SaveRequest, Time, Violation};

/// The state of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceeState {
    /// Connected, in no session.
    Registered,
    /// In a session, without a buffer yet.
    Initializing,
    /// Has its buffer, and is not started.
    Initialized,
    /// Has to reply to Start before the deadline.
    Starting {
        /// The time from which it is treated as started.
        deadline: Time,
    },
    /// Records.
    Started,
    /// Has to reply to Stop before the deadline.
    Stopping {
        /// The time from which it is treated as stopped.
        deadline: Time,
    },
    /// Does not record, and still has its buffer.
    Stopped,
    /// Has to leave its buffer before the deadline.
    Terminating {
        /// The time from which the buffer is read without waiting.
        deadline: Time,
    },
    /// Its connection is closed.
    Dead,
}

/// An event for a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceeEvent {
    /// Sessions include it. While it waits for its buffer, this replaces the configuration.
    Initialize(ProviderConfig),
    /// The loop created its buffer.
    BufferReady {
        /// Size of the durable buffer in bytes.
        durable_size: u64,
        /// The number of rolling buffers.
        rolling_buffers: u32,
    },
    /// The loop could not create its buffer.
    NoBuffer,
    /// Its sessions start.
    Start(StartOptions),
    /// Its sessions have changed, and so have their categories.
    SetCategories(Vec<String>),
    /// The conditions that it compares from its next start or change of categories on.
    SetConditions(Vec<DurationLimit>),
    /// A session would join its circular buffer, which has to become a streaming one.
    Stream,
    /// No session would join any more.
    KeepMode,
    /// The loop has reserved memory for that, or there is none.
    StreamReserved {
        /// Whether there is memory.
        has_memory: bool,
    },
    /// The loop has checked the copies of its rolling buffers from before the change.
    Checked,
    /// Its last session stops.
    Stop,
    /// Its last session ends, or it gets a new buffer.
    Terminate,
    /// The session flushes the current rolling buffer.
    Flush,
    /// A packet arrived.
    Packet(Packet),
    /// The provider closed the packet socket.
    PacketsClosed,
    /// The provider closed the registration socket.
    Disconnected,
    /// The loop detected a violation of the protocol.
    Violation(Violation),
    /// Time passed.
    Tick,
}

/// An action of the loop for a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceeAction {
    /// Create its buffer, then report [`TraceeEvent::BufferReady`] or [`TraceeEvent::NoBuffer`].
    CreateBuffer,
    /// Send it a message. [`ToProvider::Initialize`] is sent with the buffer.
    Send(ToProvider),
    /// Copy the rolling buffer, then reply with [`Packet::BufferSaved`].
    Save(SaveRequest),
    /// Its circular buffer is a streaming one from now on: collect the rolling buffers from `first`
    /// on.
    Streams {
        /// The wrapped count of the oldest rolling buffer that is saved.
        first: u32,
        /// That of the one into which it records.
        current: u32,
    },
    /// Report an alert to the caller.
    Alert(AlertName),
    /// It compares the condition of this number: the manager need not.
    Watched(u32),
    /// A condition that it compares held.
    Held {
        /// The number of the condition.
        number: u32,
        /// The number of times.
        times: u64,
    },
    /// Report to the caller that it did not reply to Start in time.
    StartTimedOut,
    /// Read the rest of its buffer, and release the buffer.
    Finish(End),
    /// Close its connection.
    CutOff(Violation),
}
