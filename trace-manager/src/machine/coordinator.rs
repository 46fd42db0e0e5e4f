//! The coordinator of the session and all providers.

use std::collections::BTreeMap;

use trace_protocol::message::{StartOptions, ToProvider};

use super::{
    ProviderConfig, Session, SessionAction, SessionEvent, SessionState, Time, Tracee, TraceeAction,
    TraceeCounts, TraceeEvent, TraceeState,
};

/// The manager's number of a connected provider. Numbers are never reused.
pub type ProviderId = u32;

/// An event for the coordinator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A provider registered.
    Registered(ProviderId),
    /// An event of one provider.
    Provider(ProviderId, TraceeEvent),
    /// The caller opens a session. Ignored while a session exists.
    Open(ProviderConfig),
    /// The caller starts the session.
    Start(StartOptions),
    /// The caller stops the session.
    Stop,
    /// The caller ends the session.
    Terminate,
    /// The caller flushes the current rolling buffers (streaming).
    Flush,
    /// Time passed.
    Tick,
}

/// An action for the event loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// An action for one provider.
    Provider(ProviderId, TraceeAction),
    /// The session has a new state.
    State(SessionState),
}

/// The session, if there is one, and all connected providers.
#[derive(Debug, Default)]
pub struct Coordinator {
    tracees: BTreeMap<ProviderId, Tracee>,
    current: Option<Current>,
    outputs: Vec<Output>,
}

#[derive(Debug)]
struct Current {
    session: Session,
    config: ProviderConfig,
    start: StartOptions,
}

impl Coordinator {
    /// Creates a coordinator without providers and without a session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the session's state; `None` when there is no session.
    pub fn session_state(&self) -> Option<SessionState> {
        self.current.as_ref().map(|current| current.session.state())
    }

    /// Returns a connected provider.
    pub fn tracee(&self, id: ProviderId) -> Option<&Tracee> {
        self.tracees.get(&id)
    }

    /// Returns the time at which an [`Input::Tick`] is due.
    pub fn deadline(&self) -> Option<Time> {
        self.tracees.values().filter_map(Tracee::deadline).min()
    }

    /// Handles an event at the time `now`. Returns the actions, in order.
    ///
    /// Dead providers stay available until the next call.
    pub fn on(&mut self, input: Input, now: Time) -> Vec<Output> {
        self.tracees.retain(|_, tracee| tracee.state() != TraceeState::Dead);
        match input {
            Input::Registered(id) => self.registered(id, now),
            Input::Provider(id, event) => self.provider(id, event, now),
            Input::Open(config) => self.open(config, now),
            Input::Start(options) => self.session(SessionEvent::Start(options), now),
            Input::Stop => self.session(SessionEvent::Stop, now),
            Input::Terminate => self.session(SessionEvent::Terminate, now),
            Input::Flush => self.all(&TraceeEvent::Flush, now),
            Input::Tick => self.all(&TraceeEvent::Tick, now),
        }
        self.update_session(now);
        std::mem::take(&mut self.outputs)
    }

    fn registered(&mut self, id: ProviderId, now: Time) {
        self.tracees.insert(id, Tracee::new());
        let state = self.session_state();
        let started = state.is_some_and(SessionState::is_running);
        let reply = TraceeAction::Send(ToProvider::Registered { started });
        self.outputs.push(Output::Provider(id, reply));
        let joins = started || state == Some(SessionState::Initialized);
        if let (true, Some(current)) = (joins, &self.current) {
            let initialize = TraceeEvent::Initialize(current.config.clone());
            self.tracee_event(id, initialize, now);
        }
    }

    fn provider(&mut self, id: ProviderId, event: TraceeEvent, now: Time) {
        let buffer_ready = matches!(event, TraceeEvent::BufferReady { .. });
        self.tracee_event(id, event, now);
        match &self.current {
            Some(current) if buffer_ready && current.session.state().is_running() => {
                let start = TraceeEvent::Start(current.start.clone());
                self.tracee_event(id, start, now);
            }
            _ => {}
        }
    }

    fn open(&mut self, config: ProviderConfig, now: Time) {
        if self.current.is_none() {
            let initialize = TraceeEvent::Initialize(config.clone());
            let session = Session::new();
            self.current = Some(Current { session, config, start: StartOptions::default() });
            self.outputs.push(Output::State(SessionState::Initialized));
            self.all(&initialize, now);
        }
    }

    fn session(&mut self, event: SessionEvent, now: Time) {
        let Some(current) = &mut self.current else { return };
        let before = current.session.state();
        let action = current.session.on(event);
        let after = current.session.state();
        if let Some(SessionAction::StartAll(options)) = &action {
            current.start = options.clone();
        }
        if before != after {
            self.outputs.push(Output::State(after));
        }
        match action {
            Some(SessionAction::StartAll(options)) => self.all(&TraceeEvent::Start(options), now),
            Some(SessionAction::StopAll) => self.all(&TraceeEvent::Stop, now),
            Some(SessionAction::TerminateAll) => self.all(&TraceeEvent::Terminate, now),
            None => {}
        }
    }

    /// Updates the session with the states of its providers, until its state is stable.
    fn update_session(&mut self, now: Time) {
        while let Some(before) = self.session_state() {
            self.session(SessionEvent::Counts(self.counts()), now);
            let after = self.session_state();
            if after == Some(SessionState::Terminated) {
                self.current = None;
            } else if after == Some(before) {
                break;
            }
        }
    }

    fn counts(&self) -> TraceeCounts {
        let mut counts = TraceeCounts::default();
        for tracee in self.tracees.values().filter(|tracee| tracee.in_session()) {
            counts.present += 1;
            match tracee.state() {
                TraceeState::Starting { .. } => {
                    counts.starting += 1;
                    counts.unstopped += 1;
                }
                TraceeState::Started | TraceeState::Stopping { .. } => counts.unstopped += 1,
                _ => {}
            }
        }
        counts
    }

    fn all(&mut self, event: &TraceeEvent, now: Time) {
        let ids: Vec<ProviderId> = self.tracees.keys().copied().collect();
        for id in ids {
            self.tracee_event(id, event.clone(), now);
        }
    }

    fn tracee_event(&mut self, id: ProviderId, event: TraceeEvent, now: Time) {
        let Some(tracee) = self.tracees.get_mut(&id) else { return };
        let actions = tracee.on(event, now);
        self.outputs.extend(actions.into_iter().map(|action| Output::Provider(id, action)));
    }
}
