//! Those who want to know when tracing starts and stops.
//!
//! The list takes no lock, so that a forked child finds it whole: it keeps its parent's observers.

mod thread;

pub(super) use thread::{is_here, Observers};

use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU8, Ordering};
use std::time::Duration;

use super::fork;
use crate::{TraceState, RECORDER};
use trace_protocol::thread_id::ask_kernel;

/// What is told when.
type Callback = Box<dyn Fn(TraceState) + Send + Sync>;

/// The state that was told last, as a number. Rules: stored by the service thread, and in a forked
/// child.
static STATE: AtomicU8 = AtomicU8::new(STOPPED);

const STOPPED: u8 = TraceState::Stopped as u8;
const STARTED: u8 = TraceState::Started as u8;
const STOPPING: u8 = TraceState::Stopping as u8;

/// The place that was made last.
///
/// Rules: pushed to with compare and exchange; nothing is ever taken away.
static PLACES: AtomicPtr<Place> = AtomicPtr::new(null_mut());

/// A place for an observer, which is used again when its observer has gone.
#[derive(Debug)]
struct Place {
    /// Who is told, or null. Rules: set by who finds it null, and set back by that observer's
    /// guard.
    callback: AtomicPtr<Callback>,
    /// The thread that is telling, or 0. It is stored before `callback` is read; who takes the
    /// callback away reads it after that.
    telling: AtomicU32,
    /// A callback that was taken away while it ran, for the thread that runs it to free.
    left: AtomicPtr<Callback>,
    before: *const Place,
}

/// Has a function told when tracing starts and stops, until this is dropped. See [`observe`].
#[must_use = "nothing is told any more when this is dropped"]
pub struct Observer {
    place: &'static Place,
    callback: *mut Callback,
}

// SAFETY: the pointer is to a callback that is `Send` and `Sync`, and is only used to take it out
// of its place.
unsafe impl Send for Observer {}
// SAFETY: as above; a shared reference gives access to nothing.
unsafe impl Sync for Observer {}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

/// What tracing does now. Costs one load.
///
/// ```
/// use trace_runtime::{trace_state, TraceState};
///
/// assert_eq!(trace_state(), TraceState::Stopped);
/// ```
#[must_use]
pub fn trace_state() -> TraceState {
    match STATE.load(Ordering::SeqCst) {
        // A child of a fork that ran no handlers has its parent's state, and records nothing.
        STARTED if RECORDER.is_recording() => TraceState::Started,
        STOPPING if RECORDER.is_recording() => TraceState::Stopping,
        _ => TraceState::Stopped,
    }
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
    let callback = Box::into_raw(Box::new(Box::new(told) as Callback));
    let free = places().find(|place| {
        place
            .callback
            .compare_exchange(null_mut(), callback, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    });
    let place = free.unwrap_or_else(|| add(callback));
    thread::start();
    Observer { place, callback }
}

fn add(callback: *mut Callback) -> &'static Place {
    let place = Box::leak(Box::new(Place {
        callback: AtomicPtr::new(callback),
        telling: AtomicU32::new(0),
        left: AtomicPtr::new(null_mut()),
        before: PLACES.load(Ordering::Acquire),
    }));
    while let Err(before) =
        PLACES.compare_exchange(place.before.cast_mut(), place, Ordering::SeqCst, Ordering::Acquire)
    {
        place.before = before;
    }
    place
}

fn places() -> impl Iterator<Item = &'static Place> {
    let mut next = PLACES.load(Ordering::SeqCst).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: a pointer in the list is null or came from `Box::leak`.
        let place = unsafe { next.as_ref() }?;
        next = place.before;
        Some(place)
    })
}

/// Whether there is an observer.
fn is_observed() -> bool {
    places().any(|place| !place.callback.load(Ordering::SeqCst).is_null())
}

/// Calls all observers. On their thread only.
fn tell_all(state: TraceState) {
    places().for_each(|place| place.tell(state));
}

/// Makes a forked child forget what its parent was doing. Only stores.
pub(super) fn forget() {
    STATE.store(STOPPED, Ordering::SeqCst);
    places().for_each(|place| place.telling.store(0, Ordering::SeqCst));
    thread::forget();
}

impl Place {
    fn tell(&self, state: TraceState) {
        self.telling.store(ask_kernel(), Ordering::SeqCst);
        // SAFETY: the pointer is null or came from `Box::into_raw`; who takes it away frees it when
        // `telling` is seen 0, which is not before the call below has returned.
        if let Some(callback) = unsafe { self.callback.load(Ordering::SeqCst).as_ref() } {
            let told = catch_unwind(AssertUnwindSafe(|| callback(state)));
            // Its drop could panic again.
            std::mem::forget(told);
        }
        self.telling.store(0, Ordering::SeqCst);
        free(self.left.swap(null_mut(), Ordering::SeqCst));
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        fork::notice_fork();
        // Nobody but this guard takes this callback away.
        self.place.callback.store(null_mut(), Ordering::SeqCst);
        if self.place.telling.load(Ordering::SeqCst) == ask_kernel() {
            self.place.left.store(self.callback, Ordering::SeqCst);
            return;
        }
        while self.place.telling.load(Ordering::SeqCst) != 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
        free(self.callback);
    }
}

fn free(callback: *mut Callback) {
    if !callback.is_null() {
        // SAFETY: the pointer came from `Box::into_raw`, was taken out of its place by its guard,
        // which is dropped once, and nobody that has seen it there is still in it.
        drop(unsafe { Box::from_raw(callback) });
    }
}
