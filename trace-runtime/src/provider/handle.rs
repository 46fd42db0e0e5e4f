//! The one provider of a process, and the guard that applications hold.

use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::config::{Builder, OnMessage};
use super::{fork, observers, service, wake};
use crate::not_traced::NotTraced;
use crate::Clock;

/// How long `init` waits for a manager that is there, and the end of a provider for its service
/// thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps this process a trace provider; the end of the last one ends that.
///
/// Hold it to the end of `main`. What was recorded is in the archive even if the process ends
/// without dropping it.
#[derive(Debug)]
#[must_use = "the process is a provider until this is dropped: bind it, as in `let _trace = init();`"]
pub struct Trace {
    /// The process whose provider it counts for; 0, which is none, if there could be no provider,
    /// or if an observer called.
    process: u32,
    shared: Arc<Shared>,
}

/// The provider of this process, while there are guards.
#[derive(Debug)]
pub(super) struct Provider {
    process: u32,
    guards: usize,
    /// How long the end waits for the service thread; for ever where it writes an archive, which
    /// depends on no other process.
    patience: Duration,
    on_message: Option<OnMessage>,
    clock: Clock,
    shared: Arc<Shared>,
}

/// What the service thread and the rest of the process tell one another.
#[derive(Debug, Default)]
pub(super) struct Shared {
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
    pub(super) fn settle(&self) {
        self.change(|state| state.settled = true);
    }

    /// Says that the service thread has ended.
    pub(super) fn end(&self) {
        self.change(|state| (state.settled, state.ended) = (true, true));
    }

    /// Whether the service thread is asked to end.
    pub(super) fn is_quitting(&self) -> bool {
        self.lock().quit
    }

    /// Keeps the reason why the process is not traced.
    pub(super) fn report(&self, reason: NotTraced) {
        let mut state = self.lock();
        state.note(format!("this process is not traced: {reason}"));
        state.reason = Some(reason);
    }

    /// Forgets the reason.
    pub(super) fn forget_reason(&self) {
        self.lock().reason = None;
    }

    /// Keeps a message for the application.
    pub(super) fn note(&self, message: String) {
        self.lock().note(message);
    }

    /// Gives the application its messages. Called on a thread of the application, without locks.
    fn deliver(&self, on_message: Option<OnMessage>) {
        let messages = std::mem::take(&mut self.lock().messages);
        if let Some(on_message) = on_message {
            messages.iter().for_each(|message| on_message(message));
        }
    }
}

impl Trace {
    pub(super) fn new(mut builder: Builder) -> Self {
        if observers::is_here() {
            // An observer's, which is told only while there is a provider. Who made that may be
            // waiting for this thread.
            return Self { process: 0, shared: Arc::default() };
        }
        let mut provider = fork::provider().lock().unwrap_or_else(PoisonError::into_inner);
        let (found, on_message) = match provider.take() {
            Some(found) => (Ok(Provider { guards: found.guards + 1, ..found }), found.on_message),
            None => {
                let on_message = builder.on_message;
                let clock = *builder.clock.get_or_insert_with(Clock::preferred);
                (clock.with_counter(|| start(builder)), on_message)
            }
        };
        let trace = match &found {
            Ok(found) => Self { process: found.process, shared: Arc::clone(&found.shared) },
            Err(shared) => Self { process: 0, shared: Arc::clone(shared) },
        };
        *provider = found.ok();
        drop(provider);
        trace.shared.deliver(on_message);
        trace
    }

    /// Returns the reason if this process cannot be traced, and `Ok` if it is a provider: it is
    /// traced, or will be when a manager appears.
    ///
    /// # Errors
    /// [`NotTraced`] says what is missing, or who is refused.
    ///
    /// ```
    /// let trace = trace_runtime::init();
    /// if let Err(reason) = trace.status() {
    ///     eprintln!("not traced: {reason}");
    /// }
    /// ```
    pub fn status(&self) -> Result<(), NotTraced> {
        self.shared.lock().reason.clone().map_or(Ok(()), Err)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if self.process != process::id() {
            // A forked child drops its parent's guard.
            return;
        }
        let mut provider = fork::provider().lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = &mut *provider else { return };
        found.guards -= 1;
        if found.guards > 0 {
            return;
        }
        let ended = provider.take().map(Provider::shut_down);
        drop(provider);
        if let Some((shared, on_message)) = ended {
            shared.deliver(on_message);
        }
    }
}

/// Starts the service thread and waits until it is decided whether the first events are recorded.
/// If there can be no provider, what is returned has the reason.
fn start(builder: Builder) -> Result<Provider, Arc<Shared>> {
    let shared = Arc::new(Shared::default());
    let patience = if builder.output.is_some() { Duration::MAX } else { PATIENCE };
    let on_message = builder.on_message;
    let clock = builder.clock.unwrap_or(Clock::Counter);
    builder.messages.iter().for_each(|message| shared.note(message.clone()));
    if let Err(error) = service::spawn(builder, Arc::clone(&shared)) {
        shared.report(NotTraced::start(error));
        return Err(shared);
    }
    shared.wait_until(patience, |state| state.settled);
    Ok(Provider { process: process::id(), guards: 1, patience, on_message, clock, shared })
}

impl Provider {
    /// Ends recording: what was recorded reaches the archive. Returns what has messages for the
    /// application.
    fn shut_down(self) -> (Arc<Shared>, Option<OnMessage>) {
        self.shared.change(|state| state.quit = true);
        wake::wake();
        self.clock.with_counter(|| self.shared.wait_until(self.patience, |state| state.ended));
        (self.shared, self.on_message)
    }
}

/// Ends the provider of a process that exits without having dropped its guards.
pub(super) extern "C" fn at_exit() {
    crate::thread::leave_trace_point();
    if let Ok(mut provider) = fork::provider().try_lock() {
        // A child of a fork that ran no handlers has its parent's.
        if let Some(provider) = provider.take().filter(|provider| provider.process == process::id())
        {
            let (shared, on_message) = provider.shut_down();
            shared.deliver(on_message);
        }
    }
}
