//! What the service thread and the rest of the process tell one another.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::not_traced::NotTraced;

/// What the service thread and the rest of the process tell one another.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// It is decided whether the first events are recorded.
    settled: bool,
    /// The service thread is asked to end.
    quit: bool,
    ended: bool,
    /// Why the process is not traced.
    reason: Option<NotTraced>,
    /// For the application, which has not been given them yet.
    messages: Vec<String>,
}

/// Messages that are kept for the application; those that come later are left out.
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

    /// Says that it is decided whether the first events are recorded.
    pub(crate) fn settle(&self) {
        self.change(|state| state.settled = true);
    }

    /// Says that the service thread has ended.
    pub(crate) fn end(&self) {
        self.change(|state| (state.settled, state.ended) = (true, true));
    }

    /// Whether the service thread is asked to end.
    pub(crate) fn is_quitting(&self) -> bool {
        self.lock().quit
    }

    /// Keeps the reason why the process is not traced.
    pub(crate) fn report(&self, reason: NotTraced) {
        let mut state = self.lock();
        state.note(format!("this process is not traced: {reason}"));
        state.reason = Some(reason);
    }

    /// Forgets the reason.
    pub(crate) fn forget_reason(&self) {
        self.lock().reason = None;
    }

    /// Keeps a message for the application.
    pub(crate) fn note(&self, message: String) {
        self.lock().note(message);
    }

    /// Asks the service thread to end.
    pub(crate) fn quit(&self) {
        self.change(|state| state.quit = true);
    }

    /// Waits until it is decided whether the first events are recorded.
    pub(crate) fn wait_until_settled(&self, patience: Duration) {
        self.wait_until(patience, |state| state.settled);
    }

    /// Waits until the service thread has ended. Returns whether it has.
    pub(crate) fn wait_until_ended(&self, patience: Duration) -> bool {
        self.wait_until(patience, |state| state.ended);
        self.lock().ended
    }
}

/// What came of a provider, also when it has ended.
#[derive(Clone, Debug, Default)]
pub struct Status(pub(crate) Arc<Shared>);

impl Status {
    /// Returns the reason if this process cannot be traced, and `Ok` if it is a provider: it is
    /// traced, or will be when a manager appears.
    ///
    /// # Errors
    /// [`NotTraced`] says what is missing, or who is refused.
    pub fn get(&self) -> Result<(), NotTraced> {
        self.0.lock().reason.clone().map_or(Ok(()), Err)
    }

    /// Takes the messages for the program's user that have come since this was called last.
    #[must_use]
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().messages)
    }
}
