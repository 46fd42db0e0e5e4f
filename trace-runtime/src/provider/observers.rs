//! Functions of the application that are called when tracing starts and stops.

pub use trace_provider::Observer;

use crate::{TraceState, ENGINE};

/// Returns the state of tracing. Costs one load.
///
/// ```
/// use trace_runtime::{trace_state, TraceState};
///
/// assert_eq!(trace_state(), TraceState::Stopped);
/// ```
#[must_use]
pub fn trace_state() -> TraceState {
    ENGINE.state()
}

/// Calls `observer` when tracing starts, when it is about to stop, and when it has stopped, until
/// the guard is dropped.
///
/// The thread `trace-observer` calls it. This thread has the application's file descriptors, and
/// blocks every signal. A session has started when all observers have returned from
/// [`TraceState::Started`]; [`init`](crate::init) does not return before. Events that they record
/// then, or in [`TraceState::Stopping`], are in the trace. An observer must return quickly: while
/// it runs, buffers are saved only in `Stopping`, and only by a manager. A manager, or a process
/// that writes its own archive, waits five seconds for it. It must not drop the guard of `init`,
/// which would wait for this thread. A call of `init` in an observer does nothing. A panic is
/// caught, unless panics abort, and the observer is called again at the next change. It is not
/// called with the current state: [`trace_state`] returns that.
///
/// The drop of the guard waits until `observer` has returned, unless `observer` itself drops the
/// guard.
///
/// A forked child keeps the observers. They are called when the child is traced itself.
///
/// ```
/// use trace_runtime::{trace_instant, TraceState};
///
/// let observer = trace_runtime::observe(|state| {
///     if state == TraceState::Started {
///         trace_instant!("app", "configuration", "threads" => 4u32);
///     }
/// });
/// # drop(observer);
/// ```
pub fn observe(observer: impl Fn(TraceState) + Send + Sync + 'static) -> Observer {
    ENGINE.observe(observer)
}
