//! A lock that a forked child finds free.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fork::notice_fork;

/// A lock of this process. A forked child starts with a new one, since its parent may have held the
/// old one.
#[derive(Debug)]
pub(super) struct ProcessLock<T>(AtomicPtr<Mutex<T>>);

impl<T: Default> ProcessLock<T> {
    pub(super) const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Waits for other threads that hold it. Allocates the first time in a process, and is not for
    /// signal handlers.
    pub(super) fn lock(&'static self) -> MutexGuard<'static, T> {
        // A child that has not forgotten its parent's lock would wait for ever.
        notice_fork();
        let mut found = self.0.load(Ordering::Acquire);
        if found.is_null() {
            let new = Box::into_raw(Box::default());
            match self.0.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => found = new,
                Err(other) => {
                    found = other;
                    // SAFETY: `new` came from `Box::into_raw` just above, and nobody else has seen
                    // it.
                    drop(unsafe { Box::from_raw(new) });
                }
            }
        }
        // SAFETY: the pointer came from `Box::into_raw` and is never freed.
        let mutex = unsafe { &*found };
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a forked child forget what its parent has in here. Only stores.
    pub(super) fn forget(&self) {
        self.0.store(null_mut(), Ordering::Relaxed);
    }
}
