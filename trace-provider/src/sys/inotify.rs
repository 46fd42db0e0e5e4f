//! Directories that change, [inotify(7)](https://man7.org/linux/man-pages/man7/inotify.7.html).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::descriptors::high;
use super::{check, owned};

/// A new inotify instance, non-blocking.
pub(crate) fn inotify() -> io::Result<OwnedFd> {
    // SAFETY: inotify_init1 takes an integer.
    owned(unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) }).map(high)
}

/// Watches a directory for what is made in it or moved into it, and for its own end.
pub(crate) fn watch_directory(inotify: BorrowedFd<'_>, directory: &Path) -> io::Result<()> {
    const EVENTS: u32 = libc::IN_CREATE
        | libc::IN_MOVED_TO
        | libc::IN_ATTRIB
        | libc::IN_DELETE_SELF
        | libc::IN_MOVE_SELF
        | libc::IN_ONLYDIR;
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: the path is a string with a zero at its end.
    let watch = unsafe { libc::inotify_add_watch(inotify.as_raw_fd(), path.as_ptr(), EVENTS) };
    check(watch).map(drop)
}

/// Takes all events that an inotify instance has so far; which they were does not matter.
pub(crate) fn drain(inotify: BorrowedFd<'_>) {
    let mut events = [0u8; 4096];
    // SAFETY: there is room for as many bytes as are asked for.
    while unsafe { libc::read(inotify.as_raw_fd(), events.as_mut_ptr().cast(), events.len()) } > 0 {
    }
}
