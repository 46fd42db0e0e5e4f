//! The threads of sessions, and what the control thread may do with them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use trace_protocol::control::{ControlError, GeneralError, TraceConfig};

use super::programs::Programs;
use super::summary;
use crate::choices::Choices;
use crate::control_server::convert;
use crate::control_server::event_queue::{EventQueue, Kind};
use crate::control_server::machine::{OpenRequest, SessionEvent, SessionId};
use crate::machine::{Input, ProviderConfig, SessionState, Time};

/// The most alerts of a session that are under way.
const MOST_ALERTS: usize = 8;

/// The thread of a session.
#[derive(Debug)]
struct Thread {
    config: TraceConfig,
    /// The user whose programs it records; `None` for all.
    user: Option<u32>,
    queue: Arc<EventQueue>,
    is_open: bool,
    has_begun: bool,
    is_stopped: bool,
    is_discarded: bool,
    /// Its messages that the control thread has not taken.
    events: VecDeque<SessionEvent>,
}

/// The threads of all sessions that have not ended, and their programs.
#[derive(Debug, Default)]
pub(super) struct Threads {
    threads: BTreeMap<SessionId, Thread>,
    pub(super) programs: Programs,
    /// The number of inputs of the coordinator.
    pub(super) inputs: u64,
}

impl Threads {
    pub(super) fn begin_open(&mut self, id: SessionId, request: OpenRequest) {
        let OpenRequest { config, caller, queue, .. } = request;
        let thread = Thread {
            config,
            user: caller.programs_of(),
            queue,
            is_open: false,
            has_begun: false,
            is_stopped: false,
            is_discarded: false,
            events: VecDeque::new(),
        };
        assert!(self.threads.insert(id, thread).is_none(), "session {id} opens once");
    }

    pub(super) fn open_or_opening(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.threads.keys().copied()
    }

    /// Opens the output of a session. Returns whether that succeeds; `None` if it was opened
    /// before.
    pub(super) fn open(&mut self, id: SessionId, is_open: bool, now: Time) -> Option<bool> {
        let thread = self.threads.get_mut(&id).filter(|it| !it.is_open)?;
        if !is_open {
            self.threads.remove(&id);
            return Some(false);
        }
        thread.is_open = true;
        let config = ProviderConfig {
            mode: thread.config.mode,
            categories: thread.config.categories.clone(),
            buffer_size: thread.config.buffer_size,
            timeouts: convert::timeouts(&thread.config),
            user: thread.user,
            ..ProviderConfig::default()
        };
        self.inputs += 2;
        self.programs.open(id, config, now);
        Some(true)
    }

    pub(super) fn step_programs(&mut self, choices: &mut Choices<'_>, now: Time) {
        self.inputs += 1;
        self.programs.step(choices, now);
    }

    /// Takes what the sessions have become since the last call.
    pub(super) fn take_changes(&mut self) {
        for (session, state) in self.programs.take_changes() {
            let thread = self.open_thread(session);
            let event = match state {
                SessionState::Started => SessionEvent::Recording,
                SessionState::Stopped => SessionEvent::Paused,
                SessionState::Terminated => {
                    SessionEvent::Ended(Box::new(summary(session, thread.is_discarded)))
                }
                _ => continue,
            };
            thread.events.push_back(event);
        }
    }

    /// Returns the next message of a thread. One that ends sends no further ones.
    pub(super) fn next_event(&mut self, id: SessionId) -> Option<SessionEvent> {
        let event = self.threads.get_mut(&id)?.events.pop_front()?;
        if let SessionEvent::Ended(_) = event {
            let thread = self.threads.remove(&id).expect("it was there");
            assert!(thread.events.is_empty());
            assert_eq!(thread.queue.dropped(), 0, "each alert is counted once");
        }
        Some(event)
    }

    pub(super) fn raise_alert(&mut self, id: SessionId) {
        let Some(thread) = self.threads.get_mut(&id).filter(|it| it.is_open) else { return };
        let has_ended = |it: &SessionEvent| matches!(it, SessionEvent::Ended(_));
        if thread.events.len() < MOST_ALERTS && !thread.events.iter().any(has_ended) {
            assert!(thread.queue.is_watched(), "the model watches it");
            assert!(thread.queue.push(Kind::Alert), "few alerts are under way");
            thread.events.push_back(SessionEvent::Alert("alert".to_owned()));
        }
    }

    /// A trigger stops a session.
    pub(super) fn trigger_stop(&mut self, id: SessionId, now: Time) {
        if self.programs.state(id).is_some() {
            self.take_changes();
            self.open_thread(id).events.push_back(SessionEvent::Stopping);
            self.manage(Input::Terminate(id), now);
        }
    }

    /// A session ends because of an error.
    pub(super) fn fail(&mut self, id: SessionId, now: Time) {
        if self.programs.state(id).is_some() {
            self.manage(Input::Terminate(id), now);
        }
    }

    #[track_caller]
    pub(super) fn assert_open(&self, id: SessionId) {
        assert!(self.threads.get(&id).is_some_and(|it| it.is_open), "session {id} is not open");
    }

    fn open_thread(&mut self, id: SessionId) -> &mut Thread {
        self.assert_open(id);
        self.threads.get_mut(&id).expect("it is open")
    }

    fn manage(&mut self, input: Input, now: Time) {
        self.inputs += 1;
        self.programs.on(input, now);
        self.take_changes();
    }

    /// The duration of a session begins.
    pub(super) fn begin(&mut self, id: SessionId) {
        let thread = self.open_thread(id);
        assert!(!thread.config.duration.is_zero(), "it has a duration");
        assert!(!std::mem::replace(&mut thread.has_begun, true), "it begins once");
    }

    pub(super) fn pause(&mut self, id: SessionId, now: Time) {
        assert!(!self.open_thread(id).is_stopped, "session {id} ends");
        self.manage(Input::Stop(id), now);
    }

    pub(super) fn start_again(&mut self, id: SessionId, now: Time) -> Result<(), ControlError> {
        assert!(!self.open_thread(id).is_stopped, "session {id} ends");
        if self.programs.state(id) != Some(SessionState::Stopped) {
            // A trigger or an error ends it.
            return Err(ControlError::general(GeneralError::Failed, "it has not stopped"));
        }
        self.manage(Input::Start(id, Default::default()), now);
        Ok(())
    }

    /// Stops a session. It is stopped once, and discarded once, also after a stop.
    pub(super) fn stop(&mut self, id: SessionId, is_discarded: bool, now: Time) {
        let thread = self.open_thread(id);
        assert!(!thread.is_discarded, "session {id} is discarded");
        assert!(is_discarded || !thread.is_stopped, "session {id} stops once");
        (thread.is_stopped, thread.is_discarded) = (true, is_discarded);
        self.manage(Input::Terminate(id), now);
    }

    pub(super) fn flush(&mut self, id: SessionId, now: Time) {
        self.assert_open(id);
        self.manage(Input::Flush(id), now);
    }

    pub(super) fn set_categories(&mut self, id: SessionId, categories: &[String], now: Time) {
        self.assert_open(id);
        self.manage(Input::SetCategories(id, categories.to_vec(), Vec::new()), now);
    }
}
