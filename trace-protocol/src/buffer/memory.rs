//! The memory that provider and manager share.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::sync::AtomicU64;
use crate::sys::region::Region;

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
