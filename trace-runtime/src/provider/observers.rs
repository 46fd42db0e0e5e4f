//! Functions of the application that are called when tracing starts and stops.

pub use trace_provider::Observer;

use crate::{TraceState, ENGINE};

/// What tracing does now. Costs one load.
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

/// Has `told` called when tracing starts, when it is about to stop, and when it has stopped, until
/// the guard is dropped.
///
/// It is called on a thread of the observers' own, `trace-observer`, which has the application's
/// file descriptors, and every signal blocked. A session counts as started when all observers have
/// returned from [`TraceState::Started`], and until then [`init`](crate::init) does not return;
/// what they record then is in the trace, and so is what they record in [`TraceState::Stopping`].
/// Meanwhile no buffer is saved: be quick. It must not drop the guard of `init`, which would wait
/// for that thread; a call of `init` in it does nothing. If it panics, the panic ends there, unless
/// panics abort, and it is told again the next time. It is not told the state that it finds:
/// [`trace_state`] says that.
///
/// When the guard has been dropped `told` is not running any more, unless the guard is dropped by
/// it.
///
/// A forked child keeps the observers; they are told when the child is traced itself.
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
pub fn observe(told: impl Fn(TraceState) + Send + Sync + 'static) -> Observer {
    ENGINE.observe(told)
}
