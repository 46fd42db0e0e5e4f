//! Child processes of tests.

use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs `run` in a forked child. Returns whether it returned true.
pub(crate) fn in_child(run: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child has a copy of this thread, and ends in `finish`. The C library keeps the
    // allocator usable in it.
    finish(unsafe { libc::fork() }, run)
}

/// Like [`in_child`], without fork handlers. The calling process has one thread.
pub(crate) fn in_cloned_child(run: impl FnOnce() -> bool) -> bool {
    let none: libc::c_long = 0;
    let flags = libc::c_long::from(libc::SIGCHLD);
    // SAFETY: with no flag but the exit signal, clone is fork.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    finish(child as libc::pid_t, run)
}

/// Runs `run` and ends the process if this is the child. Waits for the child otherwise.
fn finish(child: libc::pid_t, run: impl FnOnce() -> bool) -> bool {
    assert!(child >= 0);
    if child == 0 {
        let passed = catch_unwind(AssertUnwindSafe(run)).unwrap_or(false);
        // SAFETY: ends the child without running destructors of the parent.
        unsafe { libc::_exit(i32::from(!passed)) };
    }
    let mut status = 0;
    // SAFETY: the pointer to the status is valid.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status == 0
}

/// Makes the next child of this process the first one of a new PID namespace, with process id 1.
/// Returns whether the system permits it.
pub(crate) fn unshare_process_ids() -> bool {
    // SAFETY: the call takes an integer.
    let unshared = unsafe { libc::unshare(libc::CLONE_NEWPID) } == 0;
    // SAFETY: as above. With a user namespace no privilege is required.
    unshared || unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) } == 0
}
