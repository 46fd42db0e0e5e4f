//! Functions that are called when tracing starts and stops.
//!
//! The list has no lock, because a forked child keeps its parent's observers.

#[cfg(test)]
mod tests;
mod thread;

pub(crate) use thread::{Announcer, Work};

use std::cell::Cell;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU8, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::wake::WakeWord;
use crate::generation::Generation;
use crate::TraceState;

use self::thread::{CurrentMailbox, Observed};

type Callback = Box<dyn Fn(TraceState) + Send + Sync>;

const STOPPED: u8 = TraceState::Stopped as u8;
const STARTED: u8 = TraceState::Started as u8;
const STOPPING: u8 = TraceState::Stopping as u8;

thread_local! {
    /// The entry whose observer the thread runs, or null, and the generation of the process that
    /// called the observer. A thread that forks in an observer has both in the child, too.
    static RUNNING: Cell<(*const Entry, u32)> = const { Cell::new((null(), 0)) };
}

/// The observers of a provider.
#[derive(Debug)]
pub(crate) struct Observers {
    /// The state of tracing, as a number. Rules: stored by the service thread, and in a forked
    /// child.
    state: AtomicU8,
    /// The last entry that was added.
    ///
    /// Rules: replaced by compare and exchange. Entries are never removed.
    entries: AtomicPtr<Entry>,
    mailbox: CurrentMailbox,
}

/// An entry of the list. A new observer uses an entry whose observer was dropped.
#[derive(Debug)]
struct Entry {
    /// The observer, or null. The pointer owns a count of the `Arc`.
    ///
    /// Rules: stored if it is null, and taken by the guard of that observer.
    callback: AtomicPtr<Callback>,
    /// The generation of the process of which a thread loads or runs `callback`, or 0.
    ///
    /// Rules: stored by that thread before it loads `callback`, and reset by it. A guard takes its
    /// callback, and then waits while this is the generation of the process. A forked child
    /// does not wait for its parent's generation, because it may not have that thread.
    caller: AtomicU32,
    previous: *const Entry,
}

/// Keeps a function registered that is called when tracing starts and stops.
#[must_use = "the function is not called any more when this is dropped"]
pub struct Observer {
    entry: &'static Entry,
}

// SAFETY: the entry's callback is `Send` and `Sync`, its other fields are atomics or never change.
unsafe impl Send for Observer {}
// SAFETY: as above.
unsafe impl Sync for Observer {}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

/// Returns whether the calling thread runs an observer, for which a service thread may be waiting.
#[must_use]
pub fn is_inside_observer() -> bool {
    !RUNNING.get().0.is_null()
}

impl Observers {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU8::new(STOPPED),
            entries: AtomicPtr::new(null_mut()),
            mailbox: CurrentMailbox::new(),
        }
    }

    /// Returns the state of tracing. `is_recording` is false in a forked child, which has its
    /// parent's state until a fork handler has run.
    pub(crate) fn state(&self, is_recording: bool) -> TraceState {
        match self.state.load(Ordering::SeqCst) {
            STARTED if is_recording => TraceState::Started,
            STOPPING if is_recording => TraceState::Stopping,
            _ => TraceState::Stopped,
        }
    }

    /// Calls `observer` when the state changes, until the guard is dropped.
    pub(crate) fn observe(
        &'static self,
        observer: impl Fn(TraceState) + Send + Sync + 'static,
    ) -> Observer {
        let callback = Arc::into_raw(Arc::new(Box::new(observer) as Callback)).cast_mut();
        let free = self.entries().find(|entry| {
            entry
                .callback
                .compare_exchange(null_mut(), callback, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        });
        let entry = free.unwrap_or_else(|| self.add(callback));
        self.mailbox.start_thread(self);
        Observer { entry }
    }

    fn add(&self, callback: *mut Callback) -> &'static Entry {
        let entry = Box::leak(Box::new(Entry {
            callback: AtomicPtr::new(callback),
            caller: AtomicU32::new(0),
            previous: self.entries.load(Ordering::Acquire),
        }));
        while let Err(previous) = self.entries.compare_exchange(
            entry.previous.cast_mut(),
            entry,
            Ordering::SeqCst,
            Ordering::Acquire,
        ) {
            entry.previous = previous;
        }
        entry
    }

    fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        let mut next = self.entries.load(Ordering::SeqCst).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: a pointer in the list is null or came from `Box::leak`.
            let entry = unsafe { next.as_ref() }?;
            next = entry.previous;
            Some(entry)
        })
    }

    /// Begins a provider that waits for observers for `patience` at most. `None` if the service
    /// thread of an earlier one has not ended. Called on a thread of the application.
    pub(crate) fn begin(
        &'static self,
        patience: Duration,
        wake: &'static WakeWord,
    ) -> Option<Announcer> {
        self.mailbox.begin(self, patience, wake)
    }

    /// Enters a state, and waits until all observers have returned, within limits. Does the work
    /// of the wait, if there is any, each time the thread is woken. Service thread only.
    pub(crate) fn enter(&self, state: TraceState, announcer: &Announcer, work: Option<Work<'_>>) {
        self.state.store(state as u8, Ordering::SeqCst);
        announcer.announce(state, work);
    }

    /// Resets the state in a forked child. Only stores.
    pub(crate) fn forget(&self) {
        self.state.store(STOPPED, Ordering::SeqCst);
    }
}

impl Observed for Observers {
    fn has_observers(&self) -> bool {
        self.entries().any(|entry| !entry.callback.load(Ordering::SeqCst).is_null())
    }

    fn notify_all(&self, state: TraceState) {
        let generation = Generation::current();
        // If an observer forks and returns in the child, the child does not call the next one.
        let entries = self.entries().take_while(|_| generation.is_current());
        entries.for_each(|entry| entry.run(state, generation));
    }
}

impl Entry {
    /// Calls the observer, if there is one. One thread of a process does this at a time.
    fn run(&self, state: TraceState, generation: Generation) {
        self.caller.store(generation.number(), Ordering::SeqCst);
        if let Some(callback) = self.callback() {
            RUNNING.set((self, generation.number()));
            let result = catch_unwind(AssertUnwindSafe(move || callback(state)));
            RUNNING.set((null(), 0));
            // A panic's payload could panic when it is dropped.
            std::mem::forget(result);
        }
        // If the observer has forked, another thread of the child may have stored its generation.
        let (own, none) = (generation.number(), 0);
        let _reset = self.caller.compare_exchange(own, none, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Returns the callback, with a count for the caller. `self.caller` is stored already.
    fn callback(&self) -> Option<Arc<Callback>> {
        let callback = self.callback.load(Ordering::SeqCst);
        if callback.is_null() {
            return None;
        }
        // SAFETY: the pointer came from `Arc::into_raw`, and its count still exists: a guard that
        // takes it after the load finds `caller`, and waits. A child that does not wait has no
        // thread in here, because threads fork in callbacks.
        unsafe { Arc::increment_strong_count(callback) };
        // SAFETY: as above, with the count of the line before.
        Some(unsafe { Arc::from_raw(callback) })
    }

    /// Whether a thread of this process may have the callback, and is not the calling one.
    fn is_used_elsewhere(&self) -> bool {
        let this = Generation::current().number();
        // A thread that has forked in the observer is not the child's caller of it.
        RUNNING.get() != (std::ptr::from_ref(self), this)
            && self.caller.load(Ordering::SeqCst) == this
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let callback = self.entry.callback.swap(null_mut(), Ordering::SeqCst);
        while self.entry.is_used_elsewhere() {
            std::thread::sleep(Duration::from_micros(100));
        }
        // SAFETY: the pointer came from `Arc::into_raw`. Only this guard takes it out of the entry,
        // and a thread that still runs the callback has another count.
        drop(unsafe { Arc::from_raw(callback) });
    }
}
