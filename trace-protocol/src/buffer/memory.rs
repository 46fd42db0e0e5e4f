//! The memory that provider and manager share.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};
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

    /// Writes bytes at `offset`, as many as fit. Readers may see some of them before the others.
    ///
    /// Nobody else writes to the words that have these bytes.
    pub fn write_at(&self, mut bytes: &[u8], mut offset: usize) {
        while let (Some(word), false) = (self.words().get(offset / 8), bytes.is_empty()) {
            let (now, rest) = bytes.split_at(bytes.len().min(8 - offset % 8));
            let mut new = word.load(Ordering::Relaxed).to_ne_bytes();
            new[offset % 8..][..now.len()].copy_from_slice(now);
            word.store(u64::from_ne_bytes(new), Ordering::Relaxed);
            (bytes, offset) = (rest, offset + now.len());
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

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Bytes of a file in memory that were touched.
    fn present(file: &File) -> usize {
        file.metadata().unwrap().blocks() as usize * 512
    }

    /// A file in memory, of which nothing was touched.
    fn file(size: usize) -> File {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(size as u64).unwrap();
        file
    }

    #[test]
    fn trace_points_find_the_pages_present() {
        let size = WriteMapping::PRESENT_AT_ONCE + (1 << 20);
        let file_of_size = file(size);
        let mapping = WriteMapping::map(file_of_size.as_fd(), size).unwrap();
        assert!(mapping.has_rest());
        assert_eq!(present(&file_of_size), WriteMapping::PRESENT_AT_ONCE);
        mapping.populate_rest();
        assert_eq!(present(&file_of_size), size);
        let mapping = WriteMapping::map(file(4096).as_fd(), 4096).unwrap();
        assert!(!mapping.has_rest());
    }

    #[test]
    fn both_sides_see_the_same_memory() {
        let file = file(8192);
        let (writer, size) = (WriteMapping::map(file.as_fd(), 8192).unwrap(), 8192);
        let reader = ReadMapping::map(file.as_fd(), size).unwrap();
        assert_eq!((reader.size(), writer.words().len()), (8192, 1024));
        writer.words()[1023].store(7, std::sync::atomic::Ordering::Release);
        assert_eq!(reader.words()[1023].load(std::sync::atomic::Ordering::Acquire), 7);
        assert_eq!(writer.reader().words()[1023].load(std::sync::atomic::Ordering::Acquire), 7);
    }

    #[test]
    fn bytes_are_written_at_any_offset() {
        let file = file(4096);
        let mapping = WriteMapping::map(file.as_fd(), 4096).unwrap();
        let (mut expected, mut found) = (vec![0; 4096], vec![0; 4096]);
        for (offset, size) in [(0, 0), (0, 1), (3, 5), (7, 2), (9, 30), (16, 16), (4090, 6)] {
            let bytes: Vec<_> =
                (1..=size as u8).map(|byte| byte.wrapping_add(offset as u8)).collect();
            mapping.write_at(&bytes, offset);
            expected[offset..offset + size].copy_from_slice(&bytes);
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, 0).unwrap();
            assert!(found == expected, "{size} bytes at {offset}");
        }
        mapping.write_at(&[5; 10], 4092);
        mapping.write_at(&[5], 5000);
        expected[4092..].fill(5);
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, 0).unwrap();
        assert!(found == expected, "the rest does not fit");
    }

    #[test]
    fn sizes_that_are_no_words_are_refused() {
        for size in [0, 4, 4097] {
            let error = ReadMapping::map(file(8192).as_fd(), size).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
