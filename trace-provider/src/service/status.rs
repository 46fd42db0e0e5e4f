//! State that the service thread shares with the application.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::not_traced::NotTraced;

/// The state that the service thread shares with the application.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// It is decided whether the first events are recorded.
    settled: bool,
    /// When the application went on although it is not decided.
    gone_on: Option<Instant>,
    /// The service thread must end.
    quit: bool,
    ended: bool,
    /// Why the process is not traced.
    reason: Option<NotTraced>,
    /// Messages that the application has not taken yet.
    messages: Vec<String>,
}

/// The most messages that are stored for the application. Later ones are dropped.
const MOST_MESSAGES: usize = 16;

impl State {
    fn note(&mut self, message: String) {
        if self.messages.len() < MOST_MESSAGES && self.messages.last() != Some(&message) {
            self.messages.push(message);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait_until(&self, patience: Duration, reached: impl Fn(&State) -> bool) {
        let waited =
            self.changed.wait_timeout_while(self.lock(), patience, |state| !reached(state));
        drop(waited);
    }

    /// Reports that it is decided whether the first events are recorded. Returns for how long the
    /// application has not waited any more, once.
    pub(crate) fn settle(&self) -> Option<Duration> {
        let mut gone_on = None;
        self.change(|state| (gone_on, state.settled) = (state.gone_on.take(), true));
        gone_on.map(|since| since.elapsed())
    }

    /// Reports the end of the service thread.
    pub(crate) fn end(&self) {
        self.change(|state| (state.settled, state.ended) = (true, true));
    }

    /// Returns whether the service thread must end.
    pub(crate) fn is_quitting(&self) -> bool {
        self.lock().quit
    }

    /// Stores the reason why the process is not traced, and a message with it.
    pub(crate) fn report(&self, reason: NotTraced) {
        let mut state = self.lock();
        state.note(format!("this process is not traced: {reason}"));
        state.reason = Some(reason);
    }

    /// Clears the reason.
    pub(crate) fn clear_reason(&self) {
        self.lock().reason = None;
    }

    /// Stores a message for the application.
    pub(crate) fn note(&self, message: String) {
        self.lock().note(message);
    }

    /// Requests the end of the service thread.
    pub(crate) fn quit(&self) {
        self.change(|state| state.quit = true);
    }

    /// Waits until it is decided whether the first events are recorded.
    pub(crate) fn wait_until_settled(&self, patience: Duration) {
        self.wait_until(patience, |state| state.settled);
        let mut state = self.lock();
        if !state.settled {
            state.gone_on = Some(Instant::now());
        }
    }

    /// Waits for the end of the service thread. Returns whether it has ended.
    pub(crate) fn wait_until_ended(&self, patience: Duration) -> bool {
        self.wait_until(patience, |state| state.ended);
        self.lock().ended
    }
}

/// The status of a provider. It remains after the end of the provider.
#[derive(Clone, Debug, Default)]
pub struct Status(pub(crate) Arc<Shared>);

impl Status {
    /// Returns `Ok` if this process is a provider: it is traced, or will be when a manager appears.
    ///
    /// # Errors
    /// The reason why this process is not traced.
    pub fn get(&self) -> Result<(), NotTraced> {
        self.0.lock().reason.clone().map_or(Ok(()), Err)
    }

    /// Takes the messages for the program's user since the last call.
    #[must_use]
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().messages)
    }
}
