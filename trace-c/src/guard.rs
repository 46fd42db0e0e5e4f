//! The guard that keeps this process a provider.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::{process, thread};

use trace_runtime::{NotTraced, Trace};

/// The guard, or null.
///
/// Rules: a thread reads and uses it while holding `LOCK`. A replaced guard is freed after `LOCK`
/// has been free once.
static TRACE: AtomicPtr<Trace> = AtomicPtr::new(null_mut());

/// The process whose thread holds the lock, or 0. Not a mutex, because a forked child must not wait
/// for a thread of its parent.
static LOCK: AtomicU32 = AtomicU32::new(0);

/// Replaces the guard, and drops the old one.
pub(crate) fn hold(trace: Option<Trace>) {
    let new = trace.map_or(null_mut(), |trace| Box::into_raw(Box::new(trace)));
    let old = TRACE.swap(new, Ordering::AcqRel);
    locked(|| {});
    if !old.is_null() {
        // SAFETY: a pointer that is not null came from `Box::into_raw` above, only this thread has
        // taken it out, and by the rules of `TRACE` no thread uses it.
        drop(unsafe { Box::from_raw(old) });
    }
}

/// Returns the status of this process, or `None` without a guard.
pub(crate) fn status() -> Option<Result<(), NotTraced>> {
    locked(|| {
        // SAFETY: it is null or came from `Box::into_raw`, and is not freed while this is locked.
        let trace = unsafe { TRACE.load(Ordering::Acquire).as_ref() };
        trace.map(Trace::status)
    })
}

/// Runs a function while holding the lock.
fn locked<T>(run: impl FnOnce() -> T) -> T {
    let own = process::id();
    let mut free = 0;
    while let Err(holder) = LOCK.compare_exchange(free, own, Ordering::Acquire, Ordering::Relaxed) {
        // A forked child takes the lock from its parent, whose threads do not exist in the child.
        free = if holder == own { 0 } else { holder };
        if holder == own {
            thread::yield_now();
        }
    }
    let result = run();
    LOCK.store(0, Ordering::Release);
    result
}
