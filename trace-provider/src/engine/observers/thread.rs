//! The thread on which observers are called.
//!
//! Observers are functions of the application and use its descriptors, which the service thread
//! does not have. So they have a thread that an application's thread has started, where there are
//! observers.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::lock::ProcessLock;
use crate::sys;
use crate::TraceState;

/// What has observers.
pub(super) trait Observed: Sync {
    /// Whether there is an observer.
    fn is_observed(&self) -> bool;

    /// Calls all observers.
    fn tell_all(&self, state: TraceState);
}

/// The desk of a provider, while its service thread runs.
///
/// Rules: locked for moments only, and never while an observer runs.
#[derive(Debug)]
pub(super) struct CurrentDesk(ProcessLock<Option<Arc<Desk>>>);

thread_local! {
    static IS_OBSERVER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is one on which observers are called, for which a service thread may
/// be waiting.
#[must_use]
pub fn is_here() -> bool {
    IS_OBSERVER.get()
}

/// Where the service thread leaves a state for the observers' thread.
#[derive(Debug, Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_thread: bool,
    /// What observers are to be told, until they have been.
    request: Option<TraceState>,
    /// The provider has ended.
    ended: bool,
}

impl CurrentDesk {
    pub(super) const fn new() -> Self {
        Self(ProcessLock::new())
    }

    /// Starts the thread for a new observer, if a service thread runs. Called on a thread of the
    /// application.
    pub(super) fn start_thread(&'static self, observed: &'static dyn Observed) {
        if let Some(desk) = &*self.0.lock() {
            desk.start_thread(observed);
        }
    }

    /// Begins a provider. `None` if the service thread of an earlier one has not ended. Called on a
    /// thread of the application.
    pub(super) fn begin(&'static self, observed: &'static dyn Observed) -> Option<Announcer> {
        let mut current = self.0.lock();
        if current.is_some() {
            return None;
        }
        let desk = Arc::new(Desk::default());
        if observed.is_observed() {
            desk.start_thread(observed);
        }
        *current = Some(Arc::clone(&desk));
        Some(Announcer { current: self, desk })
    }
}

/// A service thread's way to its observers, and its right to the engine: there is one at a time.
/// Dropped when the service thread has no more to do with the engine. Observers are told nothing
/// more then.
#[derive(Debug)]
pub(crate) struct Announcer {
    current: &'static CurrentDesk,
    desk: Arc<Desk>,
}

impl Announcer {
    /// Tells the observers a state, and waits until all of them have returned. Service thread only.
    pub(super) fn tell(&self, state: TraceState) {
        self.desk.tell(state);
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        *self.current.0.lock() = None;
        self.desk.change(|state| state.ended = true);
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait_while(&self, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        self.changed
            .wait_while(self.lock(), |state| condition(state))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread, with every signal blocked, unless it is there. Its stack has the usual
    /// size, since it runs functions of the application.
    fn start_thread(self: &Arc<Self>, observed: &'static dyn Observed) {
        if std::mem::replace(&mut self.lock().has_thread, true) {
            return;
        }
        let running = Running { desk: Arc::clone(self), observed };
        let thread = std::thread::Builder::new().name("trace-observer".to_owned());
        // If there is no thread, `running` is dropped, and nobody waits for it.
        let _started = sys::without_signals(|| thread.spawn(move || running.serve()));
    }

    fn tell(&self, told: TraceState) {
        if !self.lock().has_thread {
            return;
        }
        self.change(|state| state.request = Some(told));
        drop(self.wait_while(|state| state.has_thread && state.request.is_some()));
    }
}

/// Says that the thread has ended, however it did, when dropped.
struct Running {
    desk: Arc<Desk>,
    observed: &'static dyn Observed,
}

impl Running {
    fn serve(self) {
        IS_OBSERVER.set(true);
        loop {
            let request = {
                let state = self.desk.wait_while(|state| state.request.is_none() && !state.ended);
                let Some(request) = state.request else { return };
                request
            };
            self.observed.tell_all(request);
            self.desk.change(|state| state.request = None);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.desk.change(|state| state.has_thread = false);
    }
}
