//! Files in memory, memfd_create(2).

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};

use super::check;

/// Makes an empty file that can be sealed.
pub(crate) fn create(name: &str) -> io::Result<File> {
    let name = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: `name` ends with a zero byte and lives through the call.
    let fd = check(unsafe { libc::memfd_create(name.as_ptr(), flags) })?;
    // SAFETY: memfd_create succeeded, so `fd` is open and nobody else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Allocates or frees the memory of the first `length` bytes, as the mode of fallocate(2) says.
pub(crate) fn allocate(file: &File, mode: libc::c_int, length: i64) -> io::Result<()> {
    // SAFETY: fallocate(2) takes no pointer.
    check(unsafe { libc::fallocate(file.as_raw_fd(), mode, 0, length) }).map(drop)
}

/// Adds seals to a file, fcntl(2) "File Sealing".
pub(crate) fn add_seals(file: &File, seals: libc::c_int) -> io::Result<()> {
    // SAFETY: F_ADD_SEALS takes an int, no pointer.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }).map(drop)
}

/// Returns the seals of a file.
pub(crate) fn seals(file: BorrowedFd<'_>) -> io::Result<libc::c_int> {
    // SAFETY: F_GET_SEALS takes no argument.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) })
}
