//! The guard that keeps this process a provider.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::{process, thread};

use trace_runtime::{NotTraced, Trace};

/// The guard, or null.
///
/// Rules: a thread that has read it uses it while it has locked `LOCK`; what was taken out of it is
/// freed after `LOCK` was free once.
static TRACE: AtomicPtr<Trace> = AtomicPtr::new(null_mut());

/// The process of which a thread has locked this, or 0. No mutex: a forked child must not wait for
/// a thread of its parent.
static LOCK: AtomicU32 = AtomicU32::new(0);

/// Makes this the guard, and drops the one before it.
pub(crate) fn hold(trace: Option<Trace>) {
    let new = trace.map_or(null_mut(), |trace| Box::into_raw(Box::new(trace)));
    let old = TRACE.swap(new, Ordering::AcqRel);
    locked(|| {});
    if !old.is_null() {
        // SAFETY: what is not null came from `Box::into_raw` above, this thread alone has taken it
        // out, and by the rules of `TRACE` nobody uses it any more.
        drop(unsafe { Box::from_raw(old) });
    }
}

/// What the guard says of this process; `None` without one.
pub(crate) fn status() -> Option<Result<(), NotTraced>> {
    locked(|| {
        // SAFETY: it is null or came from `Box::into_raw`, and is not freed while this is locked.
        let trace = unsafe { TRACE.load(Ordering::Acquire).as_ref() };
        trace.map(Trace::status)
    })
}

/// Runs a function while no other thread does.
fn locked<T>(run: impl FnOnce() -> T) -> T {
    let own = process::id();
    let mut free = 0;
    while let Err(holder) = LOCK.compare_exchange(free, own, Ordering::Acquire, Ordering::Relaxed) {
        // A forked child takes it from its parent, whose threads it has not.
        free = if holder == own { 0 } else { holder };
        if holder == own {
            thread::yield_now();
        }
    }
    let result = run();
    LOCK.store(0, Ordering::Release);
    result
}
