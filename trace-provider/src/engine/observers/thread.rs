//! The thread that calls observers.
//!
//! Observers are functions of the application and use its file descriptors, which the service
//! thread does not have. So a thread of the application starts this thread, if there are observers.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::wake::{WakeUps, WakeWord};
use crate::generation::Generation;
use crate::lock::ProcessLock;
use crate::sys;
use crate::TraceState;

/// Work of the service thread while it waits for observers. Returns the longest time until it must
/// be called again.
pub(crate) type Work<'a> = &'a mut dyn FnMut() -> Duration;

/// A list of observers.
pub(super) trait Observed: Sync {
    /// Whether the list has an observer.
    fn has_observers(&self) -> bool;

    /// Calls all observers.
    fn notify_all(&self, state: TraceState);
}

/// The mailbox of a provider, from its start until its service thread has ended.
///
/// Rules: locked for a few instructions, and never while an observer runs.
#[derive(Debug)]
pub(super) struct CurrentMailbox(ProcessLock<Option<Arc<Mailbox>>>);

/// The state that the service thread sends to the observers' thread.
#[derive(Debug)]
struct Mailbox {
    contents: Mutex<Contents>,
    changed: Condvar,
    /// Wakes the service thread if it works while it waits for observers.
    wake: &'static WakeWord,
}

#[derive(Debug, Default)]
struct Contents {
    has_thread: bool,
    /// The state to call observers with next.
    request: Option<TraceState>,
    /// The thread calls observers.
    is_calling: bool,
    /// The service thread has ended.
    has_ended: bool,
}

impl CurrentMailbox {
    pub(super) const fn new() -> Self {
        Self(ProcessLock::new())
    }

    /// Starts the thread for a new observer, if there is a provider. Called on a thread of the
    /// application.
    pub(super) fn start_thread(&'static self, observed: &'static dyn Observed) {
        if let Some(mailbox) = &*self.0.lock() {
            mailbox.start_thread(observed);
        }
    }

    /// Begins a provider that waits for observers for `patience` at most. `None` if the service
    /// thread of an earlier one has not ended. Called on a thread of the application.
    pub(super) fn begin(
        &'static self,
        observed: &'static dyn Observed,
        patience: Duration,
        wake: &'static WakeWord,
    ) -> Option<Announcer> {
        let mut current = self.0.lock();
        if current.is_some() {
            return None;
        }
        let mailbox = Arc::new(Mailbox::new(wake));
        if observed.has_observers() {
            mailbox.start_thread(observed);
        }
        *current = Some(Arc::clone(&mailbox));
        Some(Announcer { current: self, mailbox, patience })
    }
}

/// The service thread's access to its observers, and its right to use the engine: an engine has one
/// announcer at a time. The service thread drops it after its last use of the engine.
#[derive(Debug)]
pub(crate) struct Announcer {
    current: &'static CurrentMailbox,
    mailbox: Arc<Mailbox>,
    patience: Duration,
}

impl Announcer {
    /// Has the observers called, and waits until all of them have returned, within limits. Does
    /// the work of the wait, if there is any, each time the thread is woken. Service thread only.
    pub(super) fn announce(&self, state: TraceState, work: Option<Work<'_>>) {
        self.mailbox.send(state, self.patience, work);
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        *self.current.0.lock() = None;
        self.mailbox.change(|contents| contents.has_ended = true);
    }
}

impl Contents {
    /// Returns whether observers have to be called, or have not returned.
    fn is_busy(&mut self) -> bool {
        self.has_thread && (self.request.is_some() || self.is_calling)
    }
}

impl Mailbox {
    fn new(wake: &'static WakeWord) -> Self {
        Self { contents: Mutex::default(), changed: Condvar::new(), wake }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Contents)) {
        change(&mut self.lock());
        self.changed.notify_all();
        self.wake.wake();
    }

    fn wait_while(&self, condition: impl Fn(&Contents) -> bool) -> MutexGuard<'_, Contents> {
        self.changed
            .wait_while(self.lock(), |contents| condition(contents))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread with every signal blocked, unless it runs already. Its stack has the usual
    /// size, because it runs functions of the application.
    fn start_thread(self: &Arc<Self>, observed: &'static dyn Observed) {
        if std::mem::replace(&mut self.lock().has_thread, true) {
            return;
        }
        let thread = ObserverThread { mailbox: Arc::clone(self), observed };
        let builder = std::thread::Builder::new().name("trace-observer".to_owned());
        // If the system has no thread, `thread` is dropped, and the service thread does not wait.
        let announced = sys::announce();
        let run = move || {
            announced.runs_here();
            thread.serve();
        };
        if sys::without_signals(|| builder.spawn(run)).is_err() {
            announced.has_failed();
        }
    }

    /// Sends a state, and waits until the observers have been called with it, for `patience` at
    /// most. Does not wait if an earlier call has not returned; the observers are then called with
    /// the last state.
    fn send(&self, state: TraceState, patience: Duration, work: Option<Work<'_>>) {
        let mut contents = self.lock();
        if !contents.has_thread {
            return;
        }
        contents.request = Some(state);
        if contents.is_calling {
            return;
        }
        self.changed.notify_all();
        let mut contents = match work {
            None => self.sleep(contents, patience),
            Some(work) => {
                drop(contents);
                self.work(patience, work)
            }
        };
        if !contents.has_thread {
            // A thread that could not start leaves the request. A later thread must not serve it.
            contents.request = None;
        }
    }

    /// Waits until the observers have returned, for `patience` at most.
    fn sleep<'a>(
        &'a self,
        contents: MutexGuard<'a, Contents>,
        patience: Duration,
    ) -> MutexGuard<'a, Contents> {
        let waited = self.changed.wait_timeout_while(contents, patience, Contents::is_busy);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Works until the observers have returned, for `patience` at most.
    fn work(&self, patience: Duration, work: Work<'_>) -> MutexGuard<'_, Contents> {
        // Before the work, so that a request during it counts.
        let (start, wake_ups) = (Instant::now(), WakeUps::new(self.wake));
        loop {
            let until_next = work();
            let mut contents = self.lock();
            let rest = patience.saturating_sub(start.elapsed());
            if !contents.is_busy() || rest.is_zero() {
                return contents;
            }
            drop(contents);
            wake_ups.wait(Some(rest.min(until_next)));
        }
    }

    /// Waits for a state. `None` if the service thread has ended.
    fn receive(&self) -> Option<TraceState> {
        let is_empty = |contents: &Contents| contents.request.is_none() && !contents.has_ended;
        let mut contents = self.wait_while(is_empty);
        contents.is_calling = contents.request.is_some();
        contents.request.take()
    }
}

/// The thread that calls observers. Its end is reported when this is dropped.
struct ObserverThread {
    mailbox: Arc<Mailbox>,
    observed: &'static dyn Observed,
}

impl ObserverThread {
    fn serve(self) {
        let generation = Generation::current();
        while let Some(state) = self.mailbox.receive() {
            self.observed.notify_all(state);
            if !generation.is_current() {
                // An observer has forked and returned in the child, whose only thread this is. The
                // mailbox is the parent's, and may be locked.
                return std::mem::forget(self);
            }
            self.mailbox.change(|contents| contents.is_calling = false);
        }
    }
}

impl Drop for ObserverThread {
    fn drop(&mut self) {
        self.mailbox.change(|contents| contents.has_thread = false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    static WAKE: WakeWord = WakeWord::new();

    struct NoObservers;

    impl Observed for NoObservers {
        fn has_observers(&self) -> bool {
            false
        }

        fn notify_all(&self, _: TraceState) {}
    }

    /// The system refuses the thread after the service thread has sent a state.
    #[test]
    fn a_request_to_a_thread_that_could_not_start_is_removed() {
        let mailbox = Arc::new(Mailbox::new(&WAKE));
        mailbox.change(|contents| contents.has_thread = true);
        let refused = ObserverThread { mailbox: Arc::clone(&mailbox), observed: &NoObservers };
        std::thread::scope(|scope| {
            scope.spawn(|| mailbox.send(TraceState::Started, Duration::MAX, None));
            drop(mailbox.wait_while(|contents| contents.request.is_none()));
            drop(refused);
        });
        assert_eq!(mailbox.lock().request, None);
    }

    /// An observer that waits for the test, and reports the states that it is called with.
    struct Waiting {
        states: mpsc::Sender<TraceState>,
        permission: Mutex<mpsc::Receiver<()>>,
    }

    impl Observed for Waiting {
        fn has_observers(&self) -> bool {
            true
        }

        fn notify_all(&self, state: TraceState) {
            self.states.send(state).unwrap();
            self.permission.lock().unwrap().recv().unwrap();
        }
    }

    #[test]
    fn an_observer_that_does_not_return_does_not_block_the_service_thread() {
        let (states, called_with) = mpsc::channel();
        let (permit, permission) = mpsc::channel();
        let observed = Box::leak(Box::new(Waiting { states, permission: Mutex::new(permission) }));
        let mailbox = Arc::new(Mailbox::new(&WAKE));
        mailbox.start_thread(observed);
        mailbox.send(TraceState::Started, Duration::ZERO, None);
        assert_eq!(called_with.recv(), Ok(TraceState::Started));
        mailbox.send(TraceState::Stopping, Duration::MAX, None);
        mailbox.send(TraceState::Stopped, Duration::MAX, None);
        permit.send(()).unwrap();
        // The next state is the last one, not the one in between.
        assert_eq!(called_with.recv(), Ok(TraceState::Stopped));
        permit.send(()).unwrap();
        drop(mailbox.wait_while(|contents| contents.is_calling));
        mailbox.change(|contents| contents.has_ended = true);
    }

    /// The observer returns only after the service thread has worked for the session.
    #[test]
    fn the_service_thread_works_while_it_waits_for_an_observer() {
        let (states, called_with) = mpsc::channel();
        let (permit, permission) = mpsc::channel();
        let observed = Box::leak(Box::new(Waiting { states, permission: Mutex::new(permission) }));
        let mailbox = Arc::new(Mailbox::new(&WAKE));
        mailbox.start_thread(observed);
        let mut number = 0;
        let mut work = || {
            number += 1;
            match number {
                1 => assert_eq!(called_with.recv(), Ok(TraceState::Stopping)),
                // The time is over, then there is a request.
                2 => WAKE.wake(),
                3 => permit.send(()).unwrap(),
                _ => {}
            }
            if number == 1 {
                Duration::ZERO
            } else {
                Duration::MAX
            }
        };
        mailbox.send(TraceState::Stopping, Duration::MAX, Some(&mut work));
        assert!(number >= 3 && !mailbox.lock().is_calling);
        mailbox.change(|contents| contents.has_ended = true);
    }
}
