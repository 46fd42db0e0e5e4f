//! A lock for code that signal handlers call, too.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{compiler_fence, AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

thread_local! {
    /// Whether the thread holds a lock of this type, or waits for its first one.
    static HOLDS: AtomicBool = const { AtomicBool::new(false) };
}

/// A lock whose owner is known to signal handlers of its thread. No code of the application runs
/// under it, except for signal handlers and the allocator.
#[derive(Debug, Default)]
pub struct SignalLock<T>(Mutex<T>);

/// The value of a locked [`SignalLock`].
#[derive(Debug)]
pub struct SignalGuard<'a, T> {
    // Dropped before `_held`.
    value: MutexGuard<'a, T>,
    _held: Held,
}

impl<T> SignalLock<T> {
    /// Returns a lock that is free.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Locks, and waits for other threads. Not for signal handlers.
    pub fn lock(&self) -> SignalGuard<'_, T> {
        let held = Held::new();
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        SignalGuard { value, _held: held }
    }

    /// Locks, and waits for other threads. `None` if the lock is not free and the calling thread
    /// holds a lock of this type already, because the caller is a signal handler that has
    /// interrupted it.
    ///
    /// So a thread that holds a lock waits for none, and no thread waits for ever.
    pub fn lock_unless_nested(&self) -> Option<SignalGuard<'_, T>> {
        match HOLDS.with(|holds| holds.load(Ordering::Relaxed)) {
            true => self.try_lock(),
            false => Some(self.lock()),
        }
    }

    /// Locks, if no thread holds the lock.
    pub fn try_lock(&self) -> Option<SignalGuard<'_, T>> {
        let held = Held::new();
        let value = match self.0.try_lock() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(SignalGuard { value, _held: held })
    }
}

impl<T> Deref for SignalGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for SignalGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Sets [`HOLDS`] while a lock is taken and held. The fences are for signal handlers of the thread.
#[derive(Debug)]
struct Held {
    is_nested: bool,
}

impl Held {
    fn new() -> Self {
        let is_nested = HOLDS.with(|holds| holds.load(Ordering::Relaxed));
        HOLDS.with(|holds| holds.store(true, Ordering::Relaxed));
        compiler_fence(Ordering::SeqCst);
        Self { is_nested }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        HOLDS.with(|holds| holds.store(self.is_nested, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_holds_a_lock_waits_for_none() {
        let (first, second) = (SignalLock::new(1), SignalLock::new(2));
        let held = first.lock();
        assert!(first.lock_unless_nested().is_none());
        assert_eq!(second.lock_unless_nested().map(|second| *second), Some(2));
        assert!(first.lock_unless_nested().is_none());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| first.lock_unless_nested().map(|first| *first));
            drop(held);
            assert_eq!(waiting.join().unwrap(), Some(1));
        });
        assert_eq!(first.lock_unless_nested().map(|first| *first), Some(1));
    }
}
