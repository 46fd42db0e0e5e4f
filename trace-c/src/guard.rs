//! The guard that keeps this process a provider.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread;

use trace_runtime::{foreign, NotTraced, Trace};

/// The guard, or null.
///
/// Rules: a thread reads and uses it while holding `LOCK`. A replaced guard is freed after `LOCK`
/// has been free once.
static TRACE: AtomicPtr<Trace> = AtomicPtr::new(null_mut());

/// The generation of the process whose thread holds the lock, or 0. Not a mutex, because a forked
/// child must not wait for a thread of its parent, which may have the same process id.
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
    let own = foreign::generation();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `run` in the first process of a new PID namespace. Returns `None` if the system does
    /// not permit it, and otherwise whether `run` returned true within ten seconds.
    fn in_namespace(run: &dyn Fn() -> bool) -> Option<bool> {
        const REFUSED: i32 = 2;
        let status = in_child(&|| {
            // SAFETY: the call takes an integer.
            let unshared = unsafe { libc::unshare(libc::CLONE_NEWPID) } == 0;
            match unshared {
                true => in_child(&|| i32::from(std::process::id() != 1 || !run())),
                false => REFUSED,
            }
        });
        (status != REFUSED).then_some(status == 0)
    }

    /// Returns the exit status of a forked child, or -1 if a signal ended it.
    fn in_child(run: &dyn Fn() -> i32) -> i32 {
        // SAFETY: the child has a copy of this thread, and ends below. The C library keeps the
        // allocator usable in it.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: the call takes an integer.
            unsafe { libc::alarm(10) };
            let status = run();
            // SAFETY: ends the child without running destructors of the parent.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: the pointer to the status is valid.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        if libc::WIFEXITED(status) {
            libc::WEXITSTATUS(status)
        } else {
            -1
        }
    }

    /// The child and its parent are the first processes of two PID namespaces.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no fork")]
    fn a_child_with_its_parents_id_does_not_wait_for_its_parents_threads() {
        let is_free = in_namespace(&|| locked(|| in_namespace(&|| locked(|| true)) == Some(true)));
        match is_free {
            Some(is_free) => assert!(is_free),
            None => eprintln!("skipped: the system does not permit PID namespaces"),
        }
    }
}
