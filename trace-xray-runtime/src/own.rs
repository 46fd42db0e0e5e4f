//! State that forked children do not inherit.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::sys;

/// State that forked children do not inherit: on a page of its own, which the kernel wipes in
/// them.
#[repr(C, align(4096))]
#[derive(Debug)]
pub(crate) struct OwnPage {
    /// The number of the session that is recorded, or 0. The trampolines read it, as the first word
    /// of the page.
    ///
    /// Rules: stored by [`control`](crate::control) and in forked children; calls of an earlier
    /// session are forgotten by the number.
    session: AtomicU32,
    /// The id of the process if this library records, or is ready to; else 0.
    process: AtomicU32,
    /// Whether the loader is reserved, by [`objects`](crate::objects): a child that is forked
    /// without handlers does not have the thread that would release it.
    pub(crate) is_loader_used: AtomicBool,
}

pub(crate) static OWN: OwnPage = OwnPage {
    session: AtomicU32::new(0),
    process: AtomicU32::new(0),
    is_loader_used: AtomicBool::new(false),
};

/// Returns the number of the session that is recorded, or 0.
#[inline(always)]
pub(crate) fn session() -> u32 {
    OWN.session.load(Ordering::Relaxed)
}

/// Makes the library active.
pub(crate) fn prepare() {
    sys::wipe_on_fork(&OWN);
    OWN.process.store(std::process::id(), Ordering::SeqCst);
}

/// Stores that this library records no more.
pub(crate) fn set_inactive() {
    OWN.process.store(0, Ordering::SeqCst);
}

/// Returns whether this library records, or is ready to.
pub(crate) fn is_active() -> bool {
    OWN.process.load(Ordering::SeqCst) != 0
}

/// Returns whether another process shares this one's memory and calls this, as a child of vfork(2)
/// does. Makes a system call.
pub(crate) fn is_other_process() -> bool {
    OWN.process.load(Ordering::SeqCst) != std::process::id()
}

/// Starts recording of a session with this number, or ends it with 0. There is none after
/// [`forbid`].
pub(crate) fn set_session(number: u32) {
    OWN.session.store(number, Ordering::SeqCst);
    if !is_active() {
        OWN.session.store(0, Ordering::SeqCst);
    }
}

/// Ends recording for ever, without a system call: trampolines return before they read the clock.
pub(crate) fn forbid() {
    set_inactive();
    OWN.session.store(0, Ordering::SeqCst);
}

/// Ends recording in a forked child, whose sleds are those of its parent. Only stores. Before, the
/// kernel has wiped the page, if it can (Linux 4.14).
pub(crate) fn in_forked_child() {
    forbid();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handlers of pthread_atfork(3) are not called.
    #[test]
    fn a_child_of_a_bare_clone_has_the_page_of_a_new_process() {
        static PAGE: OwnPage = OwnPage {
            session: AtomicU32::new(0),
            process: AtomicU32::new(0),
            is_loader_used: AtomicBool::new(false),
        };
        sys::wipe_on_fork(&PAGE);
        PAGE.session.store(7, Ordering::SeqCst);
        PAGE.process.store(7, Ordering::SeqCst);
        PAGE.is_loader_used.store(true, Ordering::SeqCst);
        let flags = libc::SIGCHLD as u64;
        // SAFETY: the child has a copy of this process, as after fork(2).
        let child = unsafe { sys::call(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]) };
        if child == 0 {
            let is_wiped = !PAGE.is_loader_used.load(Ordering::SeqCst)
                && PAGE.session.load(Ordering::SeqCst) == 0
                && PAGE.process.load(Ordering::SeqCst) == 0;
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!is_wiped)) };
        }
        let mut status = -1;
        // SAFETY: the place for the status is valid.
        assert_eq!(unsafe { libc::waitpid(child as i32, &raw mut status, 0) }, child as i32);
        assert_eq!(status, 0);
        assert!(PAGE.is_loader_used.load(Ordering::SeqCst));
    }
}
