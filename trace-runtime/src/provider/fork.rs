//! Forked children. They do not write to their parent's buffer, and may become providers.

use std::sync::atomic::{AtomicU32, Ordering};

use trace_provider::Generation;

use crate::point::registry;
use crate::{sites, sys, thread, ENGINE, RECORDER};

/// The generation of the process whose state this is; 0 before the first call of [`notice`],
/// [`CLEARING`] while a child clears the inherited state.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// No process has this generation.
const CLEARING: u32 = u32::MAX;

/// The number of times that handlers were installed in this process or one that it was forked from:
/// 0 or 1.
static INSTALLED: AtomicU32 = AtomicU32::new(0);

/// Clears the inherited state in a child of a fork without handlers, such as a bare `clone`.
pub(super) fn notice() {
    let this = Generation::current().number();
    loop {
        let known = PROCESS.load(Ordering::Acquire);
        if known == this {
            return;
        }
        if known == CLEARING {
            // Another thread clears the state.
            std::thread::yield_now();
        } else if PROCESS
            .compare_exchange(known, CLEARING, Ordering::Acquire, Ordering::Relaxed)
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
    // SAFETY: by the contract.
    unsafe { sites::turn_all_off() };
}
