//! Pages of memory for a copy that is made once, soon after their allocation.
//!
//! The first write of each page is a fault: with pages of 4 KiB, faults take most of the time of a
//! copy. The memory is a mapping of its own: advice for memory of the allocator would remain when
//! the memory is used for other data.

use std::io;
use std::ptr::NonNull;

/// Bytes of a large page.
const LARGE: usize = 2 << 20;

/// Private memory of zeroed words, with large pages where the system permits them.
#[derive(Debug)]
pub(crate) struct Pages {
    /// The mapping.
    start: NonNull<u8>,
    mapped: usize,
    /// The words within it, which begin at a border of large pages.
    words: NonNull<u64>,
    length: usize,
}

// SAFETY: the mapping has no other owner, and no part of it depends on a thread.
unsafe impl Send for Pages {}
// SAFETY: through a shared reference it can only be read.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps memory for this many words.
    ///
    /// # Errors
    ///
    /// Those of [mmap(2)](https://man7.org/linux/man-pages/man2/mmap.2.html).
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let size = length.checked_mul(8).ok_or_else(too_large)?;
        // The kernel may place it anywhere between two borders. Unused pages take no memory.
        let mapped = size.checked_add(LARGE).ok_or_else(too_large)?;
        let start = map(mapped)?;
        let before = start.as_ptr().addr().next_multiple_of(LARGE) - start.as_ptr().addr();
        // SAFETY: `before` is less than LARGE, by which the mapping is larger than `size`.
        let words = unsafe { start.byte_add(before) }.cast();
        let pages = Self { start, mapped, words, length };
        pages.prefer_large();
        Ok(pages)
    }

    /// Requests large pages for the ranges that the words fill. Has no effect where the kernel or
    /// its administrator permits none. See
    /// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html), `MADV_HUGEPAGE`.
    fn prefer_large(&self) {
        let filled = self.length * 8 / LARGE * LARGE;
        // SAFETY: the range is within the mapping, and the advice changes no contents.
        unsafe { libc::madvise(self.words.as_ptr().cast(), filled, libc::MADV_HUGEPAGE) };
    }

    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: `words` points to `length` words of the mapping, which are zero or were written
        // through `words_mut`.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.length) }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; the reference to `self` is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping has no other owner, and no reference into it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

/// Maps private zeroed memory.
fn map(size: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice changes no memory of this process.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(address.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_zeroed_and_writable_to_their_end() {
        for length in [1, 511, 1 << 18, (1 << 19) + 1] {
            let mut pages = Pages::new(length).unwrap();
            assert_eq!(pages.words().as_ptr().addr() % LARGE, 0);
            assert_eq!(pages.words().len(), length);
            assert!(pages.words().iter().all(|word| *word == 0));
            pages.words_mut().fill(u64::MAX);
            assert!(pages.words().iter().all(|word| *word == u64::MAX));
        }
    }

    /// Returns whether large pages are requested for the mapping at an address.
    fn prefers_large(address: usize) -> bool {
        let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_here = false;
        for line in mappings.lines() {
            let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
            let range =
                range.map(|(start, end)| [start, end].map(|it| usize::from_str_radix(it, 16)));
            if let Some([Ok(start), Ok(end)]) = range {
                is_here = (start..end).contains(&address);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| is_here) {
                return flags.split_whitespace().any(|flag| flag == "hg");
            }
        }
        false
    }

    #[test]
    fn large_pages_are_requested_where_they_are_filled() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        let words = LARGE / 8;
        for (length, requested) in [(words - 1, 0), (words, 1), (3 * words - 1, 2), (3 * words, 3)]
        {
            let pages = Pages::new(length).unwrap();
            let large = |number: usize| pages.words().as_ptr().addr() + number * LARGE;
            let found: Vec<_> = (0..4).map(|number| prefers_large(large(number))).collect();
            let expected: Vec<_> = (0..4).map(|number| number < requested).collect();
            // Behind the words may be the mapping of another test.
            let own = (length * 8).div_ceil(LARGE);
            assert_eq!(found[..own], expected[..own], "{length}");
        }
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        for length in [usize::MAX, usize::MAX / 8, usize::MAX / 16] {
            assert!(Pages::new(length).is_err());
        }
    }
}
