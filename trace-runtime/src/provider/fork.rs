//! Forked children. They do not write to their parent's buffer, and may become providers.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use trace_provider::Generation;

use crate::point::registry;
use crate::{sites, sys, thread, timestamp, ENGINE, RECORDER};

/// The generation of the process whose state this is, with [`CLEARING`] while one of its threads
/// clears the inherited state. 0 if there is no inherited state.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// A bit that no generation has.
const CLEARING: u64 = 1 << 32;

/// The number of times that handlers were installed in this process or one that it was forked from:
/// 0 or 1.
static INSTALLED: AtomicU32 = AtomicU32::new(0);

/// Clears the inherited state in a child of a fork without handlers, such as a bare `clone`.
pub(super) fn notice() {
    let this = u64::from(Generation::current().number());
    loop {
        let known = PROCESS.load(Ordering::Acquire);
        if known == this {
            return;
        }
        if known == this | CLEARING {
            // Another thread of this process clears the state.
            std::thread::yield_now();
        } else if PROCESS
            .compare_exchange(known, this | CLEARING, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            if known != 0 {
                // The child may have started threads, one of which may load or unload a module.
                let _locked = ENGINE.table();
                // SAFETY: the lock is held.
                unsafe { clear() };
            }
            PROCESS.store(this, Ordering::Release);
        }
    }
}

/// Installs the handlers for fork and exit, once. Children inherit them.
pub(super) fn install_handlers(at_exit: extern "C" fn()) {
    if INSTALLED.swap(1, Ordering::Relaxed) == 0 {
        sys::at_fork(in_child);
        sys::at_exit(at_exit);
    }
}

/// Runs in a forked child before anything else. Only stores, since the parent's locks may be
/// held.
extern "C" fn in_child() {
    Generation::forget();
    // SAFETY: the child has one thread, which is this one.
    unsafe { clear() };
    PROCESS.store(0, Ordering::Relaxed);
}

/// Makes a forked child record nothing. Only stores. What the child's own locks protect stays.
///
/// # Safety
/// The table's lock is held, or the caller is the only thread of a forked child.
unsafe fn clear() {
    ENGINE.clear();
    thread::forget_slot();
    RECORDER.nonces().forget();
    registry::forget_alerts();
    timestamp::repair_forked();
    // SAFETY: by the contract.
    unsafe { sites::turn_all_off() };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `run` in a forked child, which an alarm ends if it blocks. The test program does not
    /// install the fork handlers. Returns whether `run` returned true.
    fn in_forked_child(run: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child has a copy of this thread, and ends below.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: an alarm without a handler ends the process.
            unsafe { libc::alarm(10) };
            let passed = run();
            // SAFETY: ends the child without running code of its parent.
            unsafe { libc::_exit(i32::from(!passed)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child created above. The pointer to the status is valid.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        status == 0
    }

    fn is_noticed() -> bool {
        notice();
        PROCESS.load(Ordering::Relaxed) == u64::from(Generation::current().number())
    }

    /// Another thread of the parent clears the state during the fork.
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no fork")]
    fn a_child_does_not_wait_for_a_thread_of_its_parent() {
        assert!(in_forked_child(|| {
            let this = u64::from(Generation::current().number());
            PROCESS.store(this | CLEARING, Ordering::Relaxed);
            let with_handler = in_forked_child(|| {
                in_child();
                is_noticed()
            });
            with_handler && in_forked_child(is_noticed)
        }));
    }
}
