//! The one provider of a process, and the guard that applications hold.

use std::marker::PhantomData;
use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::config::Builder;
use super::{fork, service};

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
    _not_constructible: PhantomData<()>,
}

/// The provider of this process, while there are guards.
#[derive(Debug)]
pub(super) struct Provider {
    process: u32,
    guards: usize,
    /// How long the end waits for the service thread; for ever where it writes an archive, which
    /// depends on no other process.
    patience: Duration,
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
}

impl Trace {
    pub(super) fn new(builder: Builder) -> Self {
        if service::is_here() {
            // An observer's, which is told only while there is a provider. Who made that may be
            // waiting for this thread.
            return Self { process: 0, _not_constructible: PhantomData };
        }
        let mut provider = fork::provider().lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *provider {
            Some(provider) => provider.guards += 1,
            None => *provider = start(builder),
        }
        let process = provider.as_ref().map_or(0, |provider| provider.process);
        Self { process, _not_constructible: PhantomData }
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
        if found.guards == 0 {
            if let Some(ended) = provider.take() {
                ended.shut_down();
            }
        }
    }
}

/// Starts the service thread and waits until it is decided whether the first events are recorded.
fn start(builder: Builder) -> Option<Provider> {
    let shared = Arc::new(Shared::default());
    let patience = if builder.output.is_some() { Duration::MAX } else { PATIENCE };
    let asked = builder.output.is_some() || std::env::var_os("TRACE_SOCKET").is_some();
    if let Err(error) = service::spawn(builder, Arc::clone(&shared)) {
        if asked {
            eprintln!("trace: this process is not traced: {error}");
        }
        return None;
    }
    shared.wait_until(patience, |state| state.settled);
    Some(Provider { process: process::id(), guards: 1, patience, shared })
}

impl Provider {
    /// Ends recording: what was recorded reaches the archive.
    fn shut_down(self) {
        self.shared.change(|state| state.quit = true);
        service::wake();
        self.shared.wait_until(self.patience, |state| state.ended);
    }
}

/// Ends the provider of a process that exits without having dropped its guards.
pub(super) extern "C" fn at_exit() {
    crate::thread::leave_trace_point();
    if let Ok(mut provider) = fork::provider().try_lock() {
        // A child of a fork that ran no handlers has its parent's.
        if let Some(provider) = provider.take().filter(|provider| provider.process == process::id())
        {
            provider.shut_down();
        }
    }
}
