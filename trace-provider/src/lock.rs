//! A lock that is free in a forked child.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::generation::Generation;
use crate::signal_lock::{SignalGuard, SignalLock};

/// A lock of one process. A forked child starts with a new lock and a default value, because a
/// thread of its parent may hold the old lock.
#[derive(Debug)]
pub struct ProcessLock<T>(AtomicPtr<Owned<T>>);

/// The lock of a process. It is never freed.
#[derive(Debug)]
struct Owned<T> {
    generation: Generation,
    lock: SignalLock<T>,
}

impl<T: Default> ProcessLock<T> {
    /// Returns a lock that no process has used yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Locks, and waits for other threads. The first call in a process allocates. Not for signal
    /// handlers.
    pub fn lock(&'static self) -> SignalGuard<'static, T> {
        self.of_process().lock()
    }

    /// Locks, and waits for other threads: [`SignalLock::lock_unless_nested`]. The first call in a
    /// process allocates.
    pub fn lock_unless_nested(&'static self) -> Option<SignalGuard<'static, T>> {
        self.of_process().lock_unless_nested()
    }

    /// Locks, if no other thread holds the lock.
    pub fn try_lock(&'static self) -> Option<SignalGuard<'static, T>> {
        self.of_process().try_lock()
    }

    fn of_process(&'static self) -> &'static SignalLock<T> {
        let mut found = self.0.load(Ordering::Acquire);
        let generation = Generation::current();
        loop {
            // SAFETY: the pointer is null or came from `Box::into_raw`, and is never freed.
            match unsafe { found.as_ref() } {
                // A child could wait for ever for its parent's lock.
                Some(owned) if owned.generation == generation => return &owned.lock,
                _ => found = self.replace(found, generation),
            }
        }
    }

    /// Replaces the lock of another process by a new one. Returns the current lock.
    fn replace(&self, found: *mut Owned<T>, generation: Generation) -> *mut Owned<T> {
        let new = Box::into_raw(Box::new(Owned {
            generation,
            lock: SignalLock::innermost(T::default()),
        }));
        match self.0.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: `new` came from `Box::into_raw` just above, and no other thread has it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        }
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
    use crate::sys::{in_child, unshare_process_ids};

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no fork")]
    fn a_forked_child_has_a_new_lock() {
        static LOCK: ProcessLock<u32> = ProcessLock::new();
        *LOCK.lock() = 1;
        assert_eq!(*LOCK.lock(), 1);
        let _held = LOCK.lock();
        assert!(LOCK.try_lock().is_none());
        for _ in 0..2 {
            assert!(in_child(|| *LOCK.lock() == 0));
        }
    }

    /// The child and its parent are the first processes of two PID namespaces.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no fork")]
    fn a_lock_of_another_process_with_the_same_id_is_replaced() {
        static LOCK: ProcessLock<u32> = ProcessLock::new();
        let in_namespace = |run: &dyn Fn() -> bool| {
            let is_first = || std::process::id() == 1;
            in_child(|| unshare_process_ids() && in_child(|| is_first() && run()))
        };
        if !in_namespace(&|| in_namespace(&|| true)) {
            eprintln!("skipped: the system does not permit nested PID namespaces");
            return;
        }
        assert!(in_namespace(&|| {
            let _held = LOCK.lock();
            in_namespace(&|| LOCK.try_lock().is_some())
        }));
    }
}
