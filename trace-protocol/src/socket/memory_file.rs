//! The memory of a shared buffer.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use crate::sys::files::file_system;
use crate::sys::{memory_files, retry};

/// The size is fixed, and so are the seals.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A file in memory with a sealed size (`memfd_create`, fcntl(2) "File Sealing").
///
/// Its memory is allocated at its creation, so that a later write to a mapping cannot fail.
#[derive(Debug)]
pub struct MemoryFile {
    file: File,
    size: u64,
}

impl MemoryFile {
    /// Creates a file of `size` zero bytes, sealed against shrinking, growing and further seals.
    /// `/proc/PID/maps` shows `name`.
    ///
    /// # Errors
    ///
    /// If memory or file descriptors are exhausted, or if `name` has a zero byte or more than 249
    /// bytes.
    pub fn new(name: &str, size: u64) -> io::Result<Self> {
        let file = memory_files::create(name)?;
        file.set_len(size)?;
        let length = i64::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
        retry(|| memory_files::allocate(&file, 0, length))?;
        memory_files::add_seals(&file, SEALS)?;
        Ok(Self { file, size })
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Writes all of `bytes` at `offset`. For the header, before the file is shared.
    ///
    /// # Errors
    ///
    /// If they do not fit.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Makes all bytes zero and frees their memory, whoever has the file open or mapped.
    ///
    /// A process that can write to the file gets new memory for what it writes afterwards, as for
    /// memory of its own. No seal prevents this: the file takes no further ones.
    ///
    /// # Errors
    ///
    /// When the kernel cannot make holes in files in memory (before Linux 3.5).
    pub fn free(&self) -> io::Result<()> {
        let length = i64::try_from(self.size).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        retry(|| memory_files::allocate(&self.file, mode, length))
    }

    /// Returns whether `fd` is memory of normal pages with a sealed size, so that no access to a
    /// mapping can fail because the file was truncated.
    pub fn is_sealed(fd: BorrowedFd<'_>) -> bool {
        let tmpfs = || file_system(fd).is_ok_and(|found| found == libc::TMPFS_MAGIC as u64);
        memory_files::seals(fd).is_ok_and(|seals| seals & SEALS == SEALS) && tmpfs()
    }
}

impl AsFd for MemoryFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
