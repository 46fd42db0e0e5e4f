//! The memory that provider and manager share.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::sync::AtomicU64;

/// Shared memory that the provider writes.
///
/// Clones share the memory; it is unmapped with the last of them.
#[derive(Clone, Debug)]
pub struct WriteMapping(Arc<Region>);

/// Shared memory that its holder can only read, and that somebody else changes meanwhile.
#[derive(Clone, Debug)]
pub struct ReadMapping(Arc<Region>);

impl WriteMapping {
    /// Bytes whose pages [`WriteMapping::map`] makes present: a few milliseconds' worth.
    pub const PRESENT_AT_ONCE: usize = 32 << 20;

    /// Maps the first `size` bytes of a file for reading and writing, with the pages at its
    /// beginning present.
    ///
    /// The pages are made present now, in this thread, so that trace points do not fault them in.
    /// Of a mapping of more than [`WriteMapping::PRESENT_AT_ONCE`] bytes,
    /// [`WriteMapping::populate_rest`] does that to the others, which takes longer.
    ///
    /// # Errors
    /// What [mmap(2)](https://man7.org/linux/man-pages/man2/mmap.2.html) says, `InvalidInput` for a
    /// size of 0 or no multiple of 8, and an error if the pages cannot be made present: an access
    /// would end the process.
    pub fn map(file: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        let region = Region::map(file, size, libc::PROT_READ | libc::PROT_WRITE)?;
        region.populate(0..size.min(Self::PRESENT_AT_ONCE))?;
        Ok(Self(Arc::new(region)))
    }

    /// Whether there are pages beyond those that [`WriteMapping::map`] makes present.
    pub fn has_rest(&self) -> bool {
        self.words().len() * 8 > Self::PRESENT_AT_ONCE
    }

    /// Makes the other pages present, in order, while somebody else may be writing to them.
    pub fn populate_rest(&self) {
        let size = self.words().len() * 8;
        for start in (Self::PRESENT_AT_ONCE..size).step_by(Self::PRESENT_AT_ONCE) {
            // Trace points take the faults otherwise.
            let _present = self.0.populate(start..size.min(start + Self::PRESENT_AT_ONCE));
        }
    }

    /// Zeroed memory of this process alone, for tests and models. `size` is a multiple of 8.
    pub fn anonymous(size: usize) -> Self {
        Self(Arc::new(Region::anonymous(size / 8)))
    }

    /// The same memory, to read.
    pub fn reader(&self) -> ReadMapping {
        ReadMapping(Arc::clone(&self.0))
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.0.words()
    }
}

impl ReadMapping {
    /// Maps the first `size` bytes of a file for reading.
    ///
    /// The file must not shrink while the mapping lives (a sealed memfd cannot; reading beyond the
    /// end of a file ends the process).
    ///
    /// # Errors
    /// What [mmap(2)](https://man7.org/linux/man-pages/man2/mmap.2.html) says, and `InvalidInput`
    /// for a size of 0 or no multiple of 8.
    pub fn map(file: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        Ok(Self(Arc::new(Region::map(file, size, libc::PROT_READ)?)))
    }

    /// Bytes of the memory.
    pub fn size(&self) -> usize {
        self.words().len() * 8
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.0.words()
    }
}

/// Where the words are, and whose they are.
struct Region {
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
    fn map(file: BorrowedFd<'_>, size: usize, protection: libc::c_int) -> io::Result<Self> {
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

    fn anonymous(length: usize) -> Self {
        let words: Box<[AtomicU64]> = (0..length).map(|_| AtomicU64::new(0)).collect();
        let words = NonNull::from(Box::leak(words)).cast();
        Self { words, length, owner: Owner::Heap }
    }

    /// Faults the pages of these bytes in, where the kernel can (Linux 5.14); elsewhere trace
    /// points take the faults.
    fn populate(&self, bytes: Range<usize>) -> io::Result<()> {
        const MADV_POPULATE_WRITE: libc::c_int = 23;
        let start = self.words.as_ptr().wrapping_byte_add(bytes.start);
        // SAFETY: the range is within this mapping, and populating changes no contents.
        let populated = unsafe { libc::madvise(start.cast(), bytes.len(), MADV_POPULATE_WRITE) };
        match io::Error::last_os_error() {
            error if populated != 0 && error.raw_os_error() != Some(libc::EINVAL) => Err(error),
            _ => Ok(()),
        }
    }

    fn words(&self) -> &[AtomicU64] {
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
