//! The state of the manager, for callers.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use trace_protocol::buffer::producer::LossReason;
use trace_protocol::message::{CategoryInfo, ClockSource};
use trace_protocol::mode::BufferingMode;

use crate::machine::{End, ProviderId, SessionState, TraceeState};

/// The categories that a provider announced.
pub(crate) type Categories = Arc<[CategoryInfo]>;

/// A registered provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    /// The manager's number of its connection. Numbers are never reused.
    pub id: ProviderId,
    /// Its process id, from the kernel.
    pub pid: u32,
    /// Its user id, from the kernel.
    pub uid: u32,
    /// Its name.
    pub name: String,
    /// The name of its process.
    pub process_name: String,
    /// The time at which its connection was accepted.
    pub registered: SystemTime,
    /// The clock of its ticks.
    pub clock: ClockSource,
    /// Its state.
    pub state: ProviderState,
    /// The numbers of the sessions that record it.
    pub sessions: Vec<u64>,
    /// The categories that it announced, at the registration or since. See
    /// [`Manager::known_categories`](crate::Manager::known_categories).
    pub categories: Arc<[CategoryInfo]>,
}

/// The state of a registered provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderState {
    /// In no session.
    Registered,
    /// Waits for its buffer.
    Initializing,
    /// Has its buffer, and is not started.
    Initialized,
    /// Has not replied to Start.
    Starting,
    /// Records.
    Started,
    /// Has not replied to Stop.
    Stopping,
    /// Does not record, and still has its buffer.
    Stopped,
    /// Has to leave its buffer.
    Terminating,
}

impl ProviderState {
    /// Returns the state of a connected provider; `None` if it is dead.
    pub(crate) fn of(state: TraceeState) -> Option<Self> {
        Some(match state {
            TraceeState::Registered => Self::Registered,
            TraceeState::Initializing => Self::Initializing,
            TraceeState::Initialized => Self::Initialized,
            TraceeState::Starting { .. } => Self::Starting,
            TraceeState::Started => Self::Started,
            TraceeState::Stopping { .. } => Self::Stopping,
            TraceeState::Stopped => Self::Stopped,
            TraceeState::Terminating { .. } => Self::Terminating,
            TraceeState::Dead => return None,
        })
    }
}

/// A session that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its number; see [`SessionHandle::number`](crate::SessionHandle::number).
    pub number: u64,
    /// Its state.
    pub state: SessionState,
    /// The time since its start.
    pub elapsed: Duration,
    /// Its category patterns.
    pub categories: Vec<String>,
    /// Its mode.
    pub mode: BufferingMode,
    /// Its buffer size in bytes.
    pub buffer_size: u64,
}

/// The statistics of a provider in a running session, also of one that has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderStatistics {
    /// Its id in the archive.
    pub id: u32,
    /// Its process id, from the kernel.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The number of switches of its rolling buffer, as it reports.
    pub wrapped_count: u32,
    /// Dropped records by reason, as it reports; only the reasons that occurred.
    pub dropped: Vec<(LossReason, u64)>,
    /// Bytes of its durable buffer in use.
    pub durable_used: u64,
    /// The size of its durable buffer in bytes.
    pub durable_size: u64,
    /// The size of its buffer in bytes.
    pub buffer_size: u64,
    /// Its events that the session has collected so far.
    pub events: u64,
    /// Its bytes in the session's archive so far.
    pub bytes: u64,
    /// Whether it has answered the start.
    pub answered_start: bool,
    /// How it left the session, if it has.
    pub end: Option<End>,
}

/// The events of a session so far, also those in the buffers of its providers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// The events of providers that have left.
    pub departed: u64,
    /// The ids of the others, and their events.
    pub providers: Vec<(u32, u64)>,
}

impl EventCounts {
    /// Returns the number of events of all providers.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.providers.iter().fold(self.departed, |sum, (_, events)| sum.saturating_add(*events))
    }

    /// Returns the number of events of a provider that has not left.
    #[must_use]
    pub fn of(&self, provider: u32) -> u64 {
        let mut found = self.providers.iter().filter(|(id, _)| *id == provider);
        found.next().map_or(0, |(_, events)| *events)
    }
}
