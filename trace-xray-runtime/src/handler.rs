//! What the trampolines call at each entry and exit.

use std::sync::atomic::{AtomicU32, Ordering};

use trace_runtime::foreign::Site;

use crate::thread;

/// The number of the session that is recorded, or 0.
///
/// Rules: stored by [`control`](crate::control) and in forked children; calls of an earlier session
/// are forgotten by the number.
static SESSION: AtomicU32 = AtomicU32::new(0);

/// Starts recording of a session with this number, or ends it with 0.
pub(crate) fn set_session(number: u32) {
    SESSION.store(number, Ordering::Release);
}

/// Ends recording in a forked child, whose sleds are those of its parent. Only stores.
pub(crate) fn in_forked_child() {
    set_session(0);
}

/// Is called by a patched entry.
pub(crate) extern "C" fn entry(site: *const Site, address: usize) {
    let session = SESSION.load(Ordering::Relaxed);
    if session == 0 {
        return;
    }
    // SAFETY: the stub has the address of the function's trace point, which is never freed.
    let site: &'static Site = unsafe { &*site };
    thread::with_calls(address, |calls| calls.enter(session, address, site));
}

/// Is called by a patched exit or tail exit.
pub(crate) extern "C" fn exit(address: usize) {
    let session = SESSION.load(Ordering::Relaxed);
    if session != 0 {
        thread::with_calls(address, |calls| calls.exit(session, address));
    }
}
