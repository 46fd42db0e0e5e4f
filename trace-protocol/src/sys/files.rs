//! Files, and names in an open directory.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;

use super::check;

/// Opens `name` in `directory`, or else in the working directory. The descriptor is close-on-exec.
pub(crate) fn open(
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
            // SAFETY: openat succeeded, so `fd` is open and has no other owner.
            return Ok(unsafe { File::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Opens the file of an `O_PATH` descriptor, even if its name refers to another file now.
pub(crate) fn reopen(file: &File, flags: libc::c_int) -> io::Result<File> {
    open(None, &descriptor_path(file), flags, 0)
}

/// The status of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Status {
    /// Device and inode, which identify a file.
    pub(crate) identity: (u64, u64),
    /// Type and permissions.
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) links: u64,
    /// Bytes.
    pub(crate) size: u64,
}

impl Status {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            identity: (metadata.dev(), metadata.ino()),
            mode: metadata.mode(),
            owner: metadata.uid(),
            links: metadata.nlink(),
            size: metadata.size(),
        }
    }

    /// Returns the type, one of the constants `S_IF…`.
    pub(crate) fn kind(&self) -> u32 {
        self.mode & libc::S_IFMT
    }

    /// Returns whether it is a regular file that is not empty.
    pub(crate) fn has_content(&self) -> bool {
        self.kind() == libc::S_IFREG && self.size != 0
    }
}

/// Returns the status of a name. Does not follow a link, and uses no descriptor.
pub(crate) fn look(directory: &File, name: &OsStr) -> io::Result<Status> {
    let name = text(name)?;
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `name` ends with a zero byte and lives through the call, and `status` has space for
    // the result.
    check(unsafe {
        libc::fstatat(
            directory.as_raw_fd(),
            name.as_ptr(),
            status.as_mut_ptr(),
            libc::AT_SYMLINK_NOFOLLOW,
        )
    })?;
    // SAFETY: fstatat succeeded and has filled it.
    let status = unsafe { status.assume_init() };
    // Their types differ between architectures.
    #[allow(clippy::unnecessary_cast)]
    Ok(Status {
        identity: (status.st_dev as u64, status.st_ino as u64),
        mode: status.st_mode as u32,
        owner: status.st_uid as u32,
        links: status.st_nlink as u64,
        size: status.st_size as u64,
    })
}

/// Returns the type of the file system that a file is on, one of the constants `…_MAGIC`.
pub(crate) fn file_system(file: BorrowedFd<'_>) -> io::Result<u64> {
    let mut status = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `status` has space for the result.
    check(unsafe { libc::fstatfs(file.as_raw_fd(), status.as_mut_ptr()) })?;
    // SAFETY: fstatfs succeeded and has filled it.
    let status = unsafe { status.assume_init() };
    // Their types differ between C libraries.
    #[allow(clippy::unnecessary_cast)]
    Ok(status.f_type as u64)
}

/// Returns the text of a symbolic link that is open with `O_PATH`, even if its name refers to
/// another file now.
pub(crate) fn read_link(link: &File) -> io::Result<OsString> {
    let name = c"";
    let mut path = vec![0u8; libc::PATH_MAX as usize];
    let (room, fd) = (path.len(), link.as_raw_fd());
    // SAFETY: `name` ends with a zero byte and lives through the call, and `path` has `room` bytes.
    let length = unsafe { libc::readlinkat(fd, name.as_ptr(), path.as_mut_ptr().cast(), room) };
    path.truncate(usize::try_from(length).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(path))
}

/// Renames a file in a directory. Replaces a file with the new name.
pub(crate) fn rename(directory: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to, fd) = (text(from)?, text(to)?, directory.as_raw_fd());
    // SAFETY: both names end with a zero byte and live through the call.
    check(unsafe { libc::renameat(fd, from.as_ptr(), fd, to.as_ptr()) }).map(drop)
}

/// Renames a file in a directory. `AlreadyExists` if the new name exists.
pub(crate) fn rename_new(directory: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to, fd) = (text(from)?, text(to)?, directory.as_raw_fd());
    // Old C libraries have no function for it.
    // SAFETY: both names end with a zero byte and live through the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            fd,
            from.as_ptr(),
            fd,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Removes a name that is not a directory.
pub(crate) fn remove(directory: &File, name: &OsStr) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: `name` ends with a zero byte and lives through the call.
    check(unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), 0) }).map(drop)
}

/// Links an open file to a new name.
pub(crate) fn link(file: &File, directory: &File, name: &OsStr) -> io::Result<()> {
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
    .map(drop)
}

/// Locks an open file until its last descriptor is closed. Returns false if another open file has
/// the lock, and true if the file system has no locks.
pub(crate) fn lock(file: &File) -> bool {
    // SAFETY: flock takes integers.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    locked || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock
}

/// Returns the effective user id of this process.
pub(crate) fn user() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns the path of an open file in proc(5). In `thread-self`, because the calling thread may
/// have its own descriptors.
pub(crate) fn descriptor_path(file: &File) -> OsString {
    format!("/proc/thread-self/fd/{}", file.as_raw_fd()).into()
}

fn number(directory: Option<&File>) -> RawFd {
    directory.map_or(libc::AT_FDCWD, |directory| directory.as_raw_fd())
}

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
