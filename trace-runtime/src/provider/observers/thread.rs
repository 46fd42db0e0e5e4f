//! The thread on which observers are called.
//!
//! Observers are functions of the application and use its descriptors, which the service thread
//! does not have. So they have a thread that an application's thread has started, where there are
//! observers.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::super::lock::ProcessLock;
use super::super::sys;
use super::{is_observed, tell_all, STATE};
use crate::TraceState;
use std::sync::atomic::Ordering;

/// The desk of this process's provider, while there is one.
///
/// Rules: locked for moments only, and never while an observer runs.
static CURRENT: ProcessLock<Option<Arc<Desk>>> = ProcessLock::new();

thread_local! {
    static IS_OBSERVER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is the observers' one, for which the service thread may be waiting.
pub(crate) fn is_here() -> bool {
    IS_OBSERVER.get()
}

/// Forgets the desk of the parent, in a forked child. Only stores.
pub(super) fn forget() {
    CURRENT.forget();
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

/// The observers of a provider, as its service thread has them. They are told nothing more when
/// this is dropped.
#[derive(Debug)]
pub(in super::super) struct Observers(Arc<Desk>);

impl Observers {
    /// Begins a provider. Called on a thread of the application.
    pub(in super::super) fn begin() -> Self {
        let desk = Arc::new(Desk::default());
        let mut current = CURRENT.lock();
        if is_observed() {
            desk.start_thread();
        }
        *current = Some(Arc::clone(&desk));
        Self(desk)
    }

    /// Enters a state, and waits until all observers have returned. Service thread only.
    pub(in super::super) fn enter(&self, state: TraceState) {
        STATE.store(state as u8, Ordering::SeqCst);
        self.0.tell(state);
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        let mut current = CURRENT.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &self.0)) {
            *current = None;
        }
        drop(current);
        self.0.change(|state| state.ended = true);
    }
}

/// Starts the thread for a new observer, if there is a provider. Called on a thread of the
/// application.
pub(super) fn start() {
    if let Some(desk) = &*CURRENT.lock() {
        desk.start_thread();
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
    fn start_thread(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().has_thread, true) {
            return;
        }
        let running = Running(Arc::clone(self));
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
struct Running(Arc<Desk>);

impl Running {
    fn serve(self) {
        IS_OBSERVER.set(true);
        loop {
            let request = {
                let state = self.0.wait_while(|state| state.request.is_none() && !state.ended);
                let Some(request) = state.request else { return };
                request
            };
            tell_all(request);
            self.0.change(|state| state.request = None);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.change(|state| state.has_thread = false);
    }
}
