//! A descriptor table of the service thread's own.
//!
//! An application may close any number at any time, and open a file of its own under it. So the
//! tracer keeps its descriptors in a table that the application does not share.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

use super::{check, owned};

/// Numbers below this one are left to code that others have put into the process: an allocator
/// that writes a log, for example, may do so on any thread, with a number that it has kept.
const LOWEST: libc::c_int = 512;

/// Gives the calling thread a descriptor table of its own, with nothing of the process in it.
///
/// The numbers of the standard streams refer to nothing that anybody reads, so that a panic's
/// message cannot get into a file of ours.
pub(crate) fn own_table() -> io::Result<()> {
    if close_all_unshared().is_err() {
        // SAFETY: the thread's functions use no descriptor that it has inherited.
        check(unsafe { libc::unshare(libc::CLONE_FILES) })?;
        close_inherited()?;
    }
    for stream in 0..3 {
        if nothing()?.into_raw_fd() != stream {
            return Err(io::ErrorKind::AddrInUse.into());
        }
    }
    Ok(())
}

/// Unshares and closes in one call (Linux 5.9). The kernel copies the lowest 64 descriptors before
/// it closes them, at least before Linux 6.12: a copy of a pipe's end can exist for a moment.
fn close_all_unshared() -> io::Result<()> {
    const CLOSE_RANGE_UNSHARE: libc::c_uint = 1 << 1;
    // SAFETY: the call takes integers; the table is unshared before anything in it is closed.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, CLOSE_RANGE_UNSHARE) };
    check(result as libc::c_int).map(drop)
}

/// Closes the copies of descriptors that `unshare` has made.
fn close_inherited() -> io::Result<()> {
    let number = |entry: io::Result<std::fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
    };
    // Not `/proc/self/fd`, which is the table of the first thread.
    let inherited: Vec<Option<RawFd>> =
        std::fs::read_dir("/proc/thread-self/fd")?.map(number).collect::<io::Result<_>>()?;
    for descriptor in inherited.into_iter().flatten() {
        // SAFETY: the table is this thread's alone, and nothing in it is in use yet.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}

/// A file that nobody else reads.
fn nothing() -> io::Result<OwnedFd> {
    let null: io::Result<File> = OpenOptions::new().read(true).write(true).open("/dev/null");
    null.map(OwnedFd::from).or_else(|_| {
        // SAFETY: the name is a string with a zero at its end.
        owned(unsafe { libc::memfd_create(c"trace-nothing".as_ptr(), libc::MFD_CLOEXEC) })
    })
}

/// Moves a descriptor to a high number, if the process may have one.
pub(crate) fn high(low: OwnedFd) -> OwnedFd {
    // SAFETY: the call takes integers.
    owned(unsafe { libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOWEST) }).unwrap_or(low)
}
