//! Functions that are called when tracing starts and stops.
//!
//! The list takes no lock, so that a forked child finds it whole: it keeps its parent's observers.

mod thread;

pub use thread::is_here;
pub(crate) use thread::Announcer;

use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicU8, Ordering};
use std::time::Duration;

use trace_protocol::thread_id;

use crate::TraceState;

use self::thread::{CurrentDesk, Observed};

/// What is told when.
type Callback = Box<dyn Fn(TraceState) + Send + Sync>;

const STOPPED: u8 = TraceState::Stopped as u8;
const STARTED: u8 = TraceState::Started as u8;
const STOPPING: u8 = TraceState::Stopping as u8;

/// The observers of a provider, and the state that they know.
#[derive(Debug)]
pub(crate) struct Observers {
    /// The state that was told last, as a number. Rules: stored by the service thread, and in a
    /// forked child.
    state: AtomicU8,
    /// The place that was made last.
    ///
    /// Rules: pushed to with compare and exchange; nothing is ever taken away.
    places: AtomicPtr<Place>,
    desk: CurrentDesk,
}

/// A place for an observer, which is used again when its observer has gone.
#[derive(Debug)]
struct Place {
    /// Who is told, or null. Rules: set by who finds it null, and set back by that observer's
    /// guard.
    callback: AtomicPtr<Callback>,
    /// The thread that is telling, or 0. It is stored before `callback` is read; who takes the
    /// callback away reads it after that.
    telling: AtomicU64,
    /// A callback that was taken away while it ran, for the thread that runs it to free.
    left: AtomicPtr<Callback>,
    before: *const Place,
}

/// Has a function called when tracing starts and stops, until this is dropped.
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

impl Observers {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU8::new(STOPPED),
            places: AtomicPtr::new(null_mut()),
            desk: CurrentDesk::new(),
        }
    }

    /// The state that was told last. `is_recording` is false in a child of a fork that ran no
    /// handlers: it has its parent's state, and records nothing.
    pub(crate) fn state(&self, is_recording: bool) -> TraceState {
        match self.state.load(Ordering::SeqCst) {
            STARTED if is_recording => TraceState::Started,
            STOPPING if is_recording => TraceState::Stopping,
            _ => TraceState::Stopped,
        }
    }

    /// Has `told` called until the guard is dropped.
    pub(crate) fn observe(
        &'static self,
        told: impl Fn(TraceState) + Send + Sync + 'static,
    ) -> Observer {
        let callback = Box::into_raw(Box::new(Box::new(told) as Callback));
        let free = self.places().find(|place| {
            place
                .callback
                .compare_exchange(null_mut(), callback, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        });
        let place = free.unwrap_or_else(|| self.add(callback));
        self.desk.start_thread(self);
        Observer { place, callback }
    }

    fn add(&self, callback: *mut Callback) -> &'static Place {
        let place = Box::leak(Box::new(Place {
            callback: AtomicPtr::new(callback),
            telling: AtomicU64::new(0),
            left: AtomicPtr::new(null_mut()),
            before: self.places.load(Ordering::Acquire),
        }));
        while let Err(before) = self.places.compare_exchange(
            place.before.cast_mut(),
            place,
            Ordering::SeqCst,
            Ordering::Acquire,
        ) {
            place.before = before;
        }
        place
    }

    fn places(&self) -> impl Iterator<Item = &'static Place> {
        let mut next = self.places.load(Ordering::SeqCst).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: a pointer in the list is null or came from `Box::leak`.
            let place = unsafe { next.as_ref() }?;
            next = place.before;
            Some(place)
        })
    }

    /// Begins a provider. `None` if the service thread of an earlier one has not ended. Called on a
    /// thread of the application.
    pub(crate) fn begin(&'static self) -> Option<Announcer> {
        self.desk.begin(self)
    }

    /// Enters a state, and waits until all observers have returned. Service thread only.
    pub(crate) fn enter(&self, state: TraceState, announcer: &Announcer) {
        self.state.store(state as u8, Ordering::SeqCst);
        announcer.tell(state);
    }

    /// Makes a forked child forget what its parent was doing. Only stores.
    pub(crate) fn forget(&self) {
        self.state.store(STOPPED, Ordering::SeqCst);
        self.places().for_each(|place| place.telling.store(0, Ordering::SeqCst));
    }
}

impl Observed for Observers {
    fn is_observed(&self) -> bool {
        self.places().any(|place| !place.callback.load(Ordering::SeqCst).is_null())
    }

    fn tell_all(&self, state: TraceState) {
        self.places().for_each(|place| place.tell(state));
    }
}

/// The calling thread, of this process: a forked child has the number of its parent's thread where
/// that was telling.
fn this_thread() -> u64 {
    u64::from(std::process::id()) << 32 | u64::from(thread_id::ask_kernel())
}

impl Place {
    /// Whether a thread of this process is telling.
    fn is_telling(&self) -> bool {
        self.telling.load(Ordering::SeqCst) >> 32 == u64::from(std::process::id())
    }

    fn tell(&self, state: TraceState) {
        self.telling.store(this_thread(), Ordering::SeqCst);
        // SAFETY: the pointer is null or came from `Box::into_raw`. Who takes it away during the
        // call below frees it after `telling` is 0 again, or, on this thread, leaves it in `left`,
        // which is freed behind the call.
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
        // Nobody but this guard takes this callback away.
        self.place.callback.store(null_mut(), Ordering::SeqCst);
        if self.place.telling.load(Ordering::SeqCst) == this_thread() {
            self.place.left.store(self.callback, Ordering::SeqCst);
            return;
        }
        while self.place.is_telling() {
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
