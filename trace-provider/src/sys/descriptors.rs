//! The file descriptor table of the service thread.
//!
//! An application may close any descriptor at any time, and reuse its number. So the tracer has its
//! descriptors in a table that it does not share with the application.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

use super::{check, owned};

/// The lowest number of the tracer's descriptors. Other code may use a lower number on the service
/// thread: an allocator, for example, may write to a log on any thread.
const LOWEST: libc::c_int = 512;

/// Unshares the calling thread's descriptor table, and closes all descriptors in it.
///
/// The standard streams are opened on `/dev/null`, so that a panic's message is not written to a
/// file of the tracer.
pub(crate) fn own_table() -> io::Result<()> {
    if close_all_unshared().is_err() {
        // SAFETY: the functions of this thread do not use inherited descriptors.
        check(unsafe { libc::unshare(libc::CLONE_FILES) })?;
        close_inherited()?;
    }
    for stream in 0..3 {
        if null_file()?.into_raw_fd() != stream {
            return Err(io::ErrorKind::AddrInUse.into());
        }
    }
    Ok(())
}

/// Unshares and closes in one call (Linux 5.9). Before Linux 6.12, the kernel copies the lowest 64
/// descriptors and then closes them: a copy of a pipe's end exists for a short time.
fn close_all_unshared() -> io::Result<()> {
    const CLOSE_RANGE_UNSHARE: libc::c_uint = 1 << 1;
    // SAFETY: the call takes integers; the table is unshared before anything in it is closed.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, CLOSE_RANGE_UNSHARE) };
    check(result as libc::c_int).map(drop)
}

/// Closes the copies of descriptors that `unshare` has created.
fn close_inherited() -> io::Result<()> {
    let number = |entry: io::Result<std::fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
    };
    // Not `/proc/self/fd`, which is the table of the first thread.
    let inherited: Vec<Option<RawFd>> =
        std::fs::read_dir("/proc/thread-self/fd")?.map(number).collect::<io::Result<_>>()?;
    for descriptor in inherited.into_iter().flatten() {
        // SAFETY: the table belongs to this thread, which uses none of the descriptors yet.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}

/// Opens `/dev/null`, or else an empty file in memory.
fn null_file() -> io::Result<OwnedFd> {
    let null: io::Result<File> = OpenOptions::new().read(true).write(true).open("/dev/null");
    null.map(OwnedFd::from).or_else(|_| {
        // SAFETY: the name is a string with a zero at its end.
        owned(unsafe { libc::memfd_create(c"trace-null".as_ptr(), libc::MFD_CLOEXEC) })
    })
}

/// Moves a descriptor to a high number, if the process's limit permits it.
pub(crate) fn high(low: OwnedFd) -> OwnedFd {
    // SAFETY: the call takes integers.
    owned(unsafe { libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOWEST) }).unwrap_or(low)
}
