//! Files and sockets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Sets the length of a file, and allocates its blocks.
pub(crate) fn allocate(file: BorrowedFd<'_>, length: libc::off_t) -> io::Result<()> {
    // SAFETY: posix_fallocate takes integers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Waits until a socket or pipe is writable, for a second at most.
pub(crate) fn wait_until_writable(fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut ready = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    let timeout = Duration::from_secs(1).as_millis() as libc::c_int;
    // SAFETY: the pointer is to one descriptor, as the count says.
    match unsafe { libc::poll(&raw mut ready, 1, timeout) } {
        1.. => Ok(()),
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}
