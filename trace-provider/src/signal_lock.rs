//! A lock for code that signal handlers call, too.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{compiler_fence, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The thread holds no lock.
const FREE: u8 = 0;
/// The rank of a lock under which innermost ones are taken.
const OUTER: u8 = 1;
/// The rank of a lock under which no thread waits for another one.
const INNERMOST: u8 = 2;

thread_local! {
    /// The highest rank of the locks that the thread holds or waits for.
    static HELD: AtomicU8 = const { AtomicU8::new(FREE) };
}

/// A lock whose owner is known to signal handlers of its thread. No code of the application runs
/// under it, except for signal handlers and the allocator.
#[derive(Debug)]
pub struct SignalLock<T> {
    rank: u8,
    value: Mutex<T>,
}

/// The value of a locked [`SignalLock`].
#[derive(Debug)]
pub struct SignalGuard<'a, T> {
    // Dropped before `_held`.
    value: MutexGuard<'a, T>,
    _held: Held,
}

impl<T> SignalLock<T> {
    /// Returns a lock that is free. Threads that hold it wait for [`innermost`](Self::innermost)
    /// locks only.
    pub const fn new(value: T) -> Self {
        Self { rank: OUTER, value: Mutex::new(value) }
    }

    /// Returns a lock that is free. Threads that hold it wait for no other one.
    pub const fn innermost(value: T) -> Self {
        Self { rank: INNERMOST, value: Mutex::new(value) }
    }

    /// Locks, and waits for other threads. Not for signal handlers.
    pub fn lock(&self) -> SignalGuard<'_, T> {
        let held = Held::new(self.rank);
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        SignalGuard { value, _held: held }
    }

    /// Locks, and waits for other threads. `None` if the lock is not free and the calling thread
    /// holds this lock or another one of its rank already, because the caller is a signal handler
    /// that has interrupted it.
    ///
    /// So a thread waits only for locks of a higher rank than those that it holds, and no thread
    /// waits for ever.
    pub fn lock_unless_nested(&self) -> Option<SignalGuard<'_, T>> {
        let held = HELD.with(|held| held.load(Ordering::Relaxed));
        if held < self.rank {
            Some(self.lock())
        } else {
            self.try_lock()
        }
    }

    /// Locks, if no thread holds the lock.
    pub fn try_lock(&self) -> Option<SignalGuard<'_, T>> {
        let held = Held::new(self.rank);
        let value = match self.value.try_lock() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(SignalGuard { value, _held: held })
    }
}

impl<T: Default> Default for SignalLock<T> {
    fn default() -> Self {
        Self::new(T::default())
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

/// Raises [`HELD`] while a lock is taken and held. The fences are for signal handlers of the
/// thread.
#[derive(Debug)]
struct Held {
    before: u8,
}

impl Held {
    fn new(rank: u8) -> Self {
        let before = HELD.with(|held| held.load(Ordering::Relaxed));
        HELD.with(|held| held.store(before.max(rank), Ordering::Relaxed));
        compiler_fence(Ordering::SeqCst);
        Self { before }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        HELD.with(|held| held.store(self.before, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;

    /// As a thread that creates a trace point while it writes the values of a span.
    #[test]
    fn a_thread_that_holds_an_outer_lock_waits_for_the_innermost_one() {
        let (outer, innermost) = (SignalLock::new(1), SignalLock::innermost(2));
        let held = innermost.lock();
        let waits = Barrier::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _outer = outer.lock();
                waits.wait();
                innermost.lock_unless_nested().map(|innermost| *innermost)
            });
            waits.wait();
            // The other thread is about to wait.
            std::thread::sleep(Duration::from_millis(20));
            assert!(outer.lock_unless_nested().is_none(), "this could wait for ever");
            drop(held);
            assert_eq!(waiting.join().unwrap(), Some(2));
        });
    }

    #[test]
    fn a_thread_that_holds_a_lock_waits_for_none_of_its_rank() {
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
