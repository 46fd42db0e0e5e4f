//! Changes of directories, [inotify(7)](https://man7.org/linux/man-pages/man7/inotify.7.html).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::descriptors::high;
use super::{check, owned};

/// Returns a new non-blocking inotify instance.
pub(crate) fn inotify() -> io::Result<OwnedFd> {
    // SAFETY: inotify_init1 takes an integer.
    owned(unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) }).map(high)
}

/// Watches a directory for new files, and for its own removal. Allocates no memory.
pub(crate) fn watch_directory(inotify: BorrowedFd<'_>, directory: &Path) -> io::Result<()> {
    const EVENTS: u32 = libc::IN_CREATE
        | libc::IN_MOVED_TO
        | libc::IN_ATTRIB
        | libc::IN_DELETE_SELF
        | libc::IN_MOVE_SELF
        | libc::IN_ONLYDIR;
    let mut space = [0; libc::PATH_MAX as usize];
    let path = terminated(directory, &mut space)?;
    // SAFETY: the path is a string with a zero at its end.
    let watch = unsafe { libc::inotify_add_watch(inotify.as_raw_fd(), path.as_ptr(), EVENTS) };
    check(watch).map(drop)
}

/// Returns a copy of the path with a zero at its end.
fn terminated<'a>(path: &Path, space: &'a mut [u8]) -> io::Result<&'a CStr> {
    let bytes = path.as_os_str().as_bytes();
    let too_long = || io::Error::from_raw_os_error(libc::ENAMETOOLONG);
    space.get_mut(..bytes.len()).ok_or_else(too_long)?.copy_from_slice(bytes);
    let copy = space.get(..=bytes.len()).ok_or_else(too_long)?;
    CStr::from_bytes_with_nul(copy).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Reads and discards all events of an inotify instance. Returns whether there were any.
pub(crate) fn drain(inotify: BorrowedFd<'_>) -> bool {
    let (mut events, mut found) = ([0u8; 4096], false);
    // SAFETY: the buffer has as many bytes as the call may store.
    while unsafe { libc::read(inotify.as_raw_fd(), events.as_mut_ptr().cast(), events.len()) } > 0 {
        found = true;
    }
    found
}
