//! Files and sockets.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::check;

/// Sets the length of a file, and allocates its blocks.
pub(crate) fn allocate(file: BorrowedFd<'_>, length: libc::off_t) -> io::Result<()> {
    // SAFETY: posix_fallocate takes integers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Returns whether [`allocate`] reserves the space of all later stores to this mapped file. If not,
/// a store can end the process with SIGBUS once the disk is full: a file system that copies on
/// write needs new space for each page that it has written to the disk.
pub(crate) fn reserves_space(file: BorrowedFd<'_>) -> io::Result<bool> {
    const EXT: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const TMPFS: u64 = 0x0102_1994;
    let mut status = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the pointer is to memory for a status.
    check(unsafe { libc::fstatfs(file.as_raw_fd(), status.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, so it has written the status.
    let status = unsafe { status.assume_init() };
    // An overlay does not report the type of the file system below it, which may copy on write.
    Ok(matches!(status.f_type as u64, EXT | XFS | TMPFS))
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
