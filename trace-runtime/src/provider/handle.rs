//! The guard of an application, and the provider of its process.

use trace_protocol::thread_id;
use trace_provider::{is_inside_observer, Config, Generation, Running, Status};

use super::application::Application;
use super::current::{deliver, OnMessage, Provider, CURRENT};
use super::fork;
use crate::forbidden::is_forbidden;
use crate::{recorder, thread, Clock, NotTraced, ENGINE, RECORDER};

/// Keeps this process a trace provider until the last guard is dropped.
///
/// Keep it to the end of `main`. Committed records are in the archive even if the process ends
/// without dropping it.
#[derive(Debug)]
#[must_use = "the process is a provider until this is dropped: bind it, as in `let _trace = init();`; `let _ = init();` drops it"]
pub struct Trace {
    /// The process whose provider it counts for. `None` if there could be no provider, or if an
    /// observer called.
    generation: Option<Generation>,
    status: Status,
}

impl Trace {
    pub(super) fn new(config: Config, clock: Option<Clock>, on_message: Option<OnMessage>) -> Self {
        if is_inside_observer() {
            // An observer is called while the process is a provider. The thread that starts or ends
            // the provider may be waiting for this thread.
            return Self { generation: None, status: Status::default() };
        }
        fork::notice();
        let mut current = CURRENT.lock();
        let (found, on_message) = match current.take() {
            Some(found) => {
                let on_message = found.on_message;
                (Ok(Provider { guards: found.guards + 1, ..found }), on_message)
            }
            None => (start(config, clock.unwrap_or_else(Clock::preferred), on_message), on_message),
        };
        let trace = match &found {
            Ok(Provider { running, .. }) => {
                Self { generation: Some(running.generation()), status: running.status().clone() }
            }
            Err(status) => Self { generation: None, status: status.clone() },
        };
        *current = found.ok();
        drop(current);
        deliver(&trace.status, on_message);
        trace
    }

    /// Returns the reason if this process cannot be traced, and `Ok` if it is a provider: it is
    /// traced, or will be when a manager appears.
    ///
    /// # Errors
    /// The reason why this process is not traced.
    ///
    /// ```
    /// let trace = trace_runtime::init();
    /// if let Err(reason) = trace.status() {
    ///     eprintln!("not traced: {reason}");
    /// }
    /// ```
    pub fn status(&self) -> Result<(), NotTraced> {
        self.status.get()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if !self.generation.is_some_and(Generation::is_current) {
            // A forked child drops its parent's guard.
            return;
        }
        let mut current = CURRENT.lock();
        let Some(found) = &mut *current else { return };
        found.guards -= 1;
        if found.guards > 0 {
            return;
        }
        let ended = current.take().map(Provider::shut_down);
        drop(current);
        if let Some((status, on_message)) = ended {
            deliver(&status, on_message);
        }
    }
}

/// Prepares trace points, and starts the service thread.
///
/// # Errors
/// The status with the reason, if the service thread cannot start.
fn start(config: Config, clock: Clock, on_message: Option<OnMessage>) -> Result<Provider, Status> {
    fork::install_handlers(at_exit);
    thread::prepare();
    RECORDER.wipe_on_fork();
    let application = Application { clock, candidates: thread_id::candidates() };
    let start = || {
        // The clock is not chosen yet, so that this reads the counter.
        recorder::prepare_nonces();
        Running::start(&ENGINE, Box::new(application), config)
    };
    let running = clock.with_counter(start).map_err(|(_, status)| status)?;
    Ok(Provider { running, guards: 1, on_message, clock })
}

/// Ends the provider of a process that exits without having dropped its guards.
extern "C" fn at_exit() {
    if is_forbidden() {
        return;
    }
    thread::leave_trace_point();
    if let Some(mut current) = CURRENT.try_lock() {
        if let Some(provider) = current.take() {
            let (status, on_message) = provider.shut_down();
            deliver(&status, on_message);
        }
    }
}
