//! A lock that a forked child finds free.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock of one process. A forked child starts with a new one, since its parent may have held the
/// old one.
#[derive(Debug)]
pub struct ProcessLock<T>(AtomicPtr<Owned<T>>);

/// The lock of a process. It is never freed.
#[derive(Debug)]
struct Owned<T> {
    process: u32,
    mutex: Mutex<T>,
}

impl<T: Default> ProcessLock<T> {
    /// A lock of no process yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Waits for other threads that hold it. Allocates the first time in a process, and is not for
    /// signal handlers.
    pub fn lock(&'static self) -> MutexGuard<'static, T> {
        self.mutex().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if no other thread holds it.
    pub fn try_lock(&'static self) -> Option<MutexGuard<'static, T>> {
        self.mutex().try_lock().ok()
    }

    fn mutex(&'static self) -> &'static Mutex<T> {
        let mut found = self.0.load(Ordering::Acquire);
        let process = std::process::id();
        loop {
            // SAFETY: the pointer is null or came from `Box::into_raw`, and is never freed.
            match unsafe { found.as_ref() } {
                // A child that took its parent's lock could wait for ever.
                Some(owned) if owned.process == process => return &owned.mutex,
                _ => found = self.replace(found, process),
            }
        }
    }

    /// Puts a new lock in the place of another process's. Returns the one that is there then.
    fn replace(&self, found: *mut Owned<T>, process: u32) -> *mut Owned<T> {
        let new = Box::into_raw(Box::new(Owned { process, mutex: Mutex::default() }));
        match self.0.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: `new` came from `Box::into_raw` just above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        }
    }

    /// Makes a forked child forget what its parent has in here, also if the child has the same
    /// number in another namespace. Only stores.
    pub fn forget(&self) {
        self.0.store(null_mut(), Ordering::Relaxed);
    }
}

impl<T: Default> Default for ProcessLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_another_process_is_replaced() {
        static LOCK: ProcessLock<u32> = ProcessLock::new();
        *LOCK.lock() = 1;
        assert_eq!(*LOCK.lock(), 1);
        let parents = Owned { process: u32::MAX, mutex: Mutex::new(2) };
        let held = Box::leak(Box::new(parents));
        let _held = held.mutex.lock();
        LOCK.0.store(std::ptr::from_ref(held).cast_mut(), Ordering::Release);
        assert_eq!(*LOCK.lock(), 0);
    }
}
