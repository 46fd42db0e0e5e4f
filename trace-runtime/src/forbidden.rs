//! A process whose threads may make no system calls from some time on.

use std::sync::atomic::{fence, AtomicBool, Ordering};

use crate::ENGINE;

/// Rules: stored once, before the first thread is forbidden system calls.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Has the program's threads make no system calls for the tracer from now on, as before a seccomp
/// filter that may end the process for one.
///
/// The service thread polls every tenth of a second, so more records may be dropped. Threads that
/// end before it has seen them have no name. The provider does not end when the process exits: the
/// manager collects its records. With `TRACE_OUTPUT`, `trace recover` does.
pub fn forbid_system_calls() {
    FORBIDDEN.store(true, Ordering::Release);
    // Either `set_silent` sees this, or its store is before the next one.
    fence(Ordering::SeqCst);
    ENGINE.set_silent(true);
}

/// Chooses whether threads make system calls for the tracer, unless they are forbidden.
pub(crate) fn set_silent(is_silent: bool) {
    ENGINE.set_silent(is_silent);
    fence(Ordering::SeqCst);
    if is_forbidden() {
        ENGINE.set_silent(true);
    }
}

pub(crate) fn is_forbidden() -> bool {
    FORBIDDEN.load(Ordering::Acquire)
}
