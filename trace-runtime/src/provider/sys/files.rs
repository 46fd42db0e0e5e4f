//! Files and sockets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::check;

/// Gives a file a length, with its blocks allocated.
pub(crate) fn allocate(file: BorrowedFd<'_>, length: libc::off_t) -> io::Result<()> {
    // SAFETY: posix_fallocate takes integers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Whether this is memory of normal pages whose size is fixed for ever: no access to a mapping of
/// it can fail because somebody has cut it off.
pub(crate) fn is_sealed_memory(file: BorrowedFd<'_>) -> bool {
    const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: F_GET_SEALS takes no argument.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & SEALS == SEALS && file_system(file) == Some(libc::TMPFS_MAGIC as u64)
}

/// The type of the file system that a file is on.
fn file_system(file: BorrowedFd<'_>) -> Option<u64> {
    let mut found = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: there is room for the result.
    check(unsafe { libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()) }).ok()?;
    // SAFETY: a statfs is numbers, and was zeroed and then filled.
    Some(unsafe { found.assume_init() }.f_type as u64)
}

/// Waits for a second at most until a socket takes bytes.
pub(crate) fn wait_until_writable(fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut ready = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    let timeout = Duration::from_secs(1).as_millis() as libc::c_int;
    // SAFETY: there is one descriptor, as the call says.
    match unsafe { libc::poll(&raw mut ready, 1, timeout) } {
        1.. => Ok(()),
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}
