//! The state machine of a session.
//!
//! ```text
//!   open (caller)     start (caller)            no provider is starting
//!  ----------> Initialized ------> Starting -------------------------> Started
//!                   |                  |                                  |
//!                   |                  +---------- stop (caller) ---------+
//!                   |                              |
//!                   |                              v    no provider is stopping
//!                   |                          Stopping ------------------> Stopped
//!                   |                                                      |     | start (caller)
//!                   |                                                      |     +---> Starting
//!                   |             terminate (caller)                       |
//!                   +-------------------------> Terminating <--------------+
//!                                                    | no provider is left
//!                                                    v
//!                                               Terminated
//! ```
//!
//! A terminate in Starting, Started or Stopping is remembered, and the session stops first. The
//! session has no timers: each provider has its own, so any number of hanging providers delays it
//! only once.

use trace_protocol::message::StartOptions;

/// The number of a session, which the caller chooses. Numbers are never reused.
pub type SessionNumber = u64;

/// The state of a session; later states are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionState {
    /// Providers have buffers and do not record.
    Initialized,
    /// Some provider has not replied to Start.
    Starting,
    /// Every provider records.
    Started,
    /// Some provider has not replied to Stop.
    Stopping,
    /// No provider records.
    Stopped,
    /// Some provider has not left its buffer.
    Terminating,
    /// The session has ended.
    Terminated,
}

impl SessionState {
    /// Returns whether a provider that registers in this state records.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Starting | Self::Started)
    }
}

/// The numbers of providers in groups of states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceeCounts {
    /// Providers that have not replied to Start, have no buffer yet, or are in an earlier one.
    pub starting: usize,
    /// Providers that have been started and have not stopped, or have not left an earlier buffer.
    pub unstopped: usize,
    /// All providers in the session.
    pub present: usize,
}

/// An event for the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// The caller starts it.
    Start(StartOptions),
    /// The caller stops it.
    Stop,
    /// The caller ends it.
    Terminate,
    /// The states of its providers may have changed.
    Counts(TraceeCounts),
}

/// An action for all providers of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAction {
    /// Start all of them.
    StartAll(StartOptions),
    /// Stop all of them.
    StopAll,
    /// Terminate all of them.
    TerminateAll,
}

/// The state machine of a session.
#[derive(Debug, Clone)]
pub struct Session {
    state: SessionState,
    terminate_requested: bool,
}

impl Session {
    /// Creates a session that was just opened.
    pub fn new() -> Self {
        Self { state: SessionState::Initialized, terminate_requested: false }
    }

    /// Returns the session's state.
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// Returns whether it stops, and may start again.
    pub fn is_pausing(&self) -> bool {
        let stops = matches!(self.state, SessionState::Stopping | SessionState::Stopped);
        stops && !self.terminate_requested
    }

    /// The transition function. Events that are not valid in the current state are ignored.
    pub fn on(&mut self, event: SessionEvent) -> Option<SessionAction> {
        use SessionEvent as E;
        use SessionState as S;
        match (self.state, event) {
            (S::Initialized | S::Stopped, E::Start(options)) if !self.terminate_requested => {
                self.transition(S::Starting, SessionAction::StartAll(options))
            }
            (S::Starting | S::Started, E::Stop) => {
                self.transition(S::Stopping, SessionAction::StopAll)
            }
            (S::Initialized | S::Stopped, E::Terminate) => {
                self.transition(S::Terminating, SessionAction::TerminateAll)
            }
            (S::Starting | S::Started, E::Terminate) => {
                self.terminate_requested = true;
                self.transition(S::Stopping, SessionAction::StopAll)
            }
            (S::Stopping, E::Terminate) => {
                self.terminate_requested = true;
                None
            }
            (_, E::Counts(counts)) => self.on_counts(counts),
            _ => None,
        }
    }

    fn on_counts(&mut self, counts: TraceeCounts) -> Option<SessionAction> {
        match self.state {
            SessionState::Starting if counts.starting == 0 => self.enter(SessionState::Started),
            SessionState::Stopping if counts.unstopped == 0 => {
                self.enter(SessionState::Stopped);
                if self.terminate_requested {
                    self.on(SessionEvent::Terminate)
                } else {
                    None
                }
            }
            SessionState::Terminating if counts.present == 0 => {
                self.enter(SessionState::Terminated)
            }
            _ => None,
        }
    }

    fn transition(&mut self, state: SessionState, action: SessionAction) -> Option<SessionAction> {
        self.state = state;
        Some(action)
    }

    fn enter(&mut self, state: SessionState) -> Option<SessionAction> {
        self.state = state;
        None
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}
