//! System calls on names in an open directory.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Opens `name`, in `directory` or else in the working directory. The descriptor is close-on-exec.
pub(super) fn open(
    directory: Option<&File>,
    name: &OsStr,
    flags: libc::c_int,
    mode: libc::mode_t,
) -> io::Result<File> {
    let name = text(name)?;
    let flags = flags | libc::O_CLOEXEC;
    loop {
        // SAFETY: `name` ends with a zero byte and lives through the call.
        let fd = unsafe { libc::openat(number(directory), name.as_ptr(), flags, mode) };
        if fd >= 0 {
            // SAFETY: openat succeeded, so `fd` is open and nobody else owns it.
            return Ok(unsafe { File::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Opens the file of an `O_PATH` descriptor, whatever its name leads to by now.
pub(super) fn reopen(file: &File, flags: libc::c_int) -> io::Result<File> {
    open(None, &descriptor_path(file), flags, 0)
}

/// Returns where a symbolic link, opened with `O_PATH | O_NOFOLLOW`, leads to.
pub(super) fn read_link(link: &File) -> io::Result<OsString> {
    let mut path = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: the empty name ends with a zero byte, and there is room for as many bytes as are
    // asked for.
    let length = unsafe {
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), path.as_mut_ptr().cast(), path.len())
    };
    path.truncate(usize::try_from(length).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(path))
}

/// Renames a file within a directory, over what has the new name.
pub(super) fn rename(directory: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to, fd) = (text(from)?, text(to)?, directory.as_raw_fd());
    // SAFETY: both names end with a zero byte and live through the call.
    check(unsafe { libc::renameat(fd, from.as_ptr(), fd, to.as_ptr()) })
}

/// Removes a name that is no directory.
pub(super) fn remove(directory: &File, name: &OsStr) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: `name` ends with a zero byte and lives through the call.
    check(unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), 0) })
}

/// Gives an open file a name that nothing has.
pub(super) fn link(file: &File, directory: &File, name: &OsStr) -> io::Result<()> {
    let (source, name) = (text(&descriptor_path(file))?, text(name)?);
    // SAFETY: both names end with a zero byte and live through the call.
    check(unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            source.as_ptr(),
            directory.as_raw_fd(),
            name.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    })
}

/// Locks an open file until its last descriptor is closed. False if another open file has the lock;
/// true also where there are no locks.
pub(super) fn lock(file: &File) -> bool {
    // SAFETY: flock takes integers.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    locked || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock
}

/// Returns the user whose rights this process has.
pub(super) fn user() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The name that the kernel has for an open file. `thread-self`, since the calling thread may have
/// descriptors of its own.
pub(super) fn descriptor_path(file: &File) -> OsString {
    format!("/proc/thread-self/fd/{}", file.as_raw_fd()).into()
}

fn number(directory: Option<&File>) -> RawFd {
    directory.map_or(libc::AT_FDCWD, |directory| directory.as_raw_fd())
}

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
