//! Memory of words that is shared with other processes, or stands for such.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use crate::sync::AtomicU64;

/// Where the words are, and whose they are.
pub(crate) struct Region {
    words: NonNull<AtomicU64>,
    length: usize,
    owner: Owner,
}

enum Owner {
    Mapped,
    Heap,
}

// SAFETY: a region is plain memory of atomics; it is shared by reference only and freed once.
unsafe impl Send for Region {}
// SAFETY: as above; all access through `&Region` is atomic.
unsafe impl Sync for Region {}

impl Region {
    pub(crate) fn map(
        file: BorrowedFd<'_>,
        size: usize,
        protection: libc::c_int,
    ) -> io::Result<Self> {
        if size == 0 || size % 8 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the size of a trace buffer is a multiple of 8",
            ));
        }
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of this
        // process.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(map_error(size));
        }
        let words = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { words, length: size / 8, owner: Owner::Mapped })
    }

    pub(crate) fn anonymous(length: usize) -> Self {
        let words: Box<[AtomicU64]> = (0..length).map(|_| AtomicU64::new(0)).collect();
        let words = NonNull::from(Box::leak(words)).cast();
        Self { words, length, owner: Owner::Heap }
    }

    /// Faults the pages of these bytes in, where the kernel can (Linux 5.14); elsewhere trace
    /// points take the faults.
    pub(crate) fn populate(&self, bytes: Range<usize>) -> io::Result<()> {
        const MADV_POPULATE_WRITE: libc::c_int = 23;
        let start = self.words.as_ptr().wrapping_byte_add(bytes.start);
        // SAFETY: the range is within this mapping, and populating changes no contents.
        let populated = unsafe { libc::madvise(start.cast(), bytes.len(), MADV_POPULATE_WRITE) };
        match io::Error::last_os_error() {
            error if populated != 0 && error.raw_os_error() != Some(libc::EINVAL) => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: `words` points to `length` words, mapped or allocated by this region and alive as
        // long as it; every bit pattern is a valid `AtomicU64`, and nobody holds a non-atomic
        // reference to the memory.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.length) }
    }
}

/// The error of the mmap that has just failed.
fn map_error(size: usize) -> io::Error {
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EAGAIN) {
        return error;
    }
    // The process has called mlockall(MCL_FUTURE).
    let message = format!(
        "a trace buffer of {} KiB exceeds the limit of locked memory (RLIMIT_MEMLOCK)",
        size >> 10
    );
    io::Error::new(io::ErrorKind::OutOfMemory, message)
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.owner {
            Owner::Mapped => {
                // SAFETY: the region is this mapping's only owner, and no reference into it is left
                // when it is dropped.
                unsafe { libc::munmap(self.words.as_ptr().cast(), self.length * 8) };
            }
            Owner::Heap => {
                let words = std::ptr::slice_from_raw_parts_mut(self.words.as_ptr(), self.length);
                // SAFETY: `words` came from `Box::leak` of a slice of this length and is freed
                // once.
                drop(unsafe { Box::from_raw(words) });
            }
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("words", &self.length).finish_non_exhaustive()
    }
}
