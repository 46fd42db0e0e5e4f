//! The session.
//!
//! ```text
//!   open (caller)     start (caller)            nobody is starting
//!  ----------> Initialized ------> Starting -------------------------> Started
//!                   |                  |                                  |
//!                   |                  +---------- stop (caller) ---------+
//!                   |                              |
//!                   |                              v    nobody is stopping
//!                   |                          Stopping ------------------> Stopped
//!                   |                                                      |     | start (caller)
//!                   |                                                      |     +---> Starting
//!                   |             terminate (caller)                       |
//!                   +-------------------------> Terminating <--------------+
//!                                                    | nobody is left
//!                                                    v
//!                                               Terminated
//! ```
//!
//! A terminate while it starts, runs or stops is remembered and stops it first. There are no times
//! here: each provider has its own, so one that does not answer holds the session up once at most.

use trace_protocol::message::StartOptions;

/// Where the session stands; later states are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionState {
    /// Providers have buffers and do not record.
    Initialized,
    /// Some provider has not answered to the start.
    Starting,
    /// Every provider records.
    Started,
    /// Some provider has not answered to the stop.
    Stopping,
    /// No provider records.
    Stopped,
    /// Some provider has not given its buffer back.
    Terminating,
    /// EndOnDrop.
    Terminated,
}

impl SessionState {
    /// Tells whether a provider that registers now records.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Starting | Self::Started)
    }
}

/// How many providers of the session are in which part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceeCounts {
    /// In [`TraceeState::Starting`](super::TraceeState::Starting).
    pub starting: usize,
    /// In a state from which a stop has to be answered, or in which it was not yet.
    pub unstopped: usize,
    /// In the session at all.
    pub present: usize,
}

/// What happens to the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// The caller starts it.
    Start(StartOptions),
    /// The caller stops it.
    Stop,
    /// The caller ends it.
    Terminate,
    /// Its providers may have moved.
    Counts(TraceeCounts),
}

/// What the session wants of its providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAction {
    /// All of them start.
    StartAll(StartOptions),
    /// All of them stop.
    StopAll,
    /// All of them terminate.
    TerminateAll,
}

/// The session.
#[derive(Debug, Clone)]
pub struct Session {
    state: SessionState,
    terminate_requested: bool,
}

impl Session {
    /// Makes a session that was just opened.
    pub fn new() -> Self {
        Self { state: SessionState::Initialized, terminate_requested: false }
    }

    /// Returns where it stands.
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// The transition function. What is not allowed in the present state does nothing.
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
                let wanted = self.terminate_requested;
                wanted.then_some(()).and_then(|()| self.on(SessionEvent::Terminate))
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
