//! Forked children: they record nothing, write nothing to their parent's buffer, and may become
//! providers of their own.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::Mutex;

use super::handle::Provider;
use super::{given, observers, table, wanted};
use crate::point::{alert, registry};
use crate::{thread, RECORDER};

/// The provider of this process. A child starts with a new lock, since its parent may have held the
/// old one.
static PROVIDER: AtomicPtr<Mutex<Option<Provider>>> = AtomicPtr::new(null_mut());

/// The process that all of this is of; 0 before the first call of [`provider`], [`CLEARING`] while
/// a child clears what it inherited.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// No process has this number.
const CLEARING: u32 = u32::MAX;

/// The number of times that handlers were installed in this process or one that it was forked from:
/// 0 or 1.
static INSTALLED: AtomicU32 = AtomicU32::new(0);

/// The provider of this process.
pub(super) fn provider() -> &'static Mutex<Option<Provider>> {
    notice_fork();
    let mut found = PROVIDER.load(Ordering::Acquire);
    if found.is_null() {
        let new = Box::into_raw(Box::new(Mutex::new(None)));
        match PROVIDER.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => found = new,
            Err(other) => {
                found = other;
                // SAFETY: `new` came from `Box::into_raw` just above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }
    // SAFETY: a pointer in `PROVIDER` came from `Box::into_raw` and is never freed.
    unsafe { &*found }
}

/// Finds out whether this is a child of a fork that ran no handlers, such as a bare `clone`, and
/// then does what they would have done.
pub(crate) fn notice_fork() {
    let this = std::process::id();
    loop {
        let known = PROCESS.load(Ordering::Acquire);
        if known == this {
            return;
        }
        if known == CLEARING {
            // Another thread is about to be done: it only stores.
            std::thread::yield_now();
        } else if PROCESS
            .compare_exchange(known, CLEARING, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
        {
            if known != 0 {
                in_child();
            }
            PROCESS.store(this, Ordering::Release);
        }
    }
}

/// Installs the handlers for fork and exit, once. Children inherit them.
pub(super) fn install_handlers() {
    if INSTALLED.swap(1, Ordering::Relaxed) == 0 {
        // SAFETY: the handler is a function of this program, and does what is allowed in a forked
        // child.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        // SAFETY: the handler is a function of this program, and unwinds into nothing.
        unsafe { libc::atexit(super::handle::at_exit) };
    }
}

/// Runs in a forked child before anything else. Only stores, since the parent's locks may be
/// held.
extern "C" fn in_child() {
    RECORDER.forget();
    thread::forget_slot();
    RECORDER.nonces().forget();
    // SAFETY: a forked child has one thread, which is this one.
    unsafe { registry::turn_all_off() };
    alert::listen(false);
    alert::forget();
    table::forget();
    given::forget();
    wanted::forget();
    observers::forget();
    PROVIDER.store(null_mut(), Ordering::Relaxed);
}
