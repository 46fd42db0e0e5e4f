//! Waits for the change of a word, [futex(2)](https://man7.org/linux/man-pages/man2/futex.2.html).

use std::ptr::null;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Waits until the word is not `seen`, until a wake-up, or for `timeout`, if there is one. May
/// return earlier.
pub(crate) fn wait_for_change(word: &AtomicU32, seen: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(null(), std::ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the timeout, if there is one, are valid during the call, which only
    // reads them.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, seen, timeout) };
}

/// Wakes a thread that waits for the word. Works in signal handlers, and leaves `errno` as it was.
pub(crate) fn wake_one(word: &AtomicU32) {
    // SAFETY: the function has no arguments.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the pointer is this thread's errno.
    let saved = unsafe { *errno };
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the call only uses the word's address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
    // SAFETY: as above.
    unsafe { *errno = saved };
}
