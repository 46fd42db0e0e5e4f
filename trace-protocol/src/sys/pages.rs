//! Pages of memory for a copy that is made once, soon after their allocation.
//!
//! The first write of each page is a fault: with pages of 4 KiB, faults take most of the time of a
//! copy, and the kernel may have to make large pages free first. So some mappings are used again.
//! The memory is a mapping of its own: advice for memory of the allocator would remain when the
//! memory is used for other data.

use std::io;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Bytes of a large page.
const LARGE: usize = 2 << 20;

/// The least number of words of a copy for which there are pages of its own.
pub(crate) const LEAST: usize = (4 << 20) / 8;

/// The most bytes of mappings that wait to be used again.
const SPARE: usize = 66 << 20;

static SPARES: Mutex<Spares> = Mutex::new(Spares::new());

/// Private memory of words, with large pages where the system permits them. The words are zero, or
/// those of an earlier use.
#[derive(Debug)]
pub(crate) struct Pages {
    /// `None` only while this is dropped.
    mapping: Option<Mapping>,
    /// The words of the mapping.
    words: NonNull<u64>,
    length: usize,
}

/// A private mapping.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    mapped: usize,
    /// The words within it, which begin at a border of large pages.
    words: NonNull<u64>,
    /// The number of words.
    capacity: usize,
}

// SAFETY: the mapping has no other owner, and no part of it depends on a thread.
unsafe impl Send for Pages {}
// SAFETY: through a shared reference it can only be read.
unsafe impl Sync for Pages {}
// SAFETY: as for `Pages`.
unsafe impl Send for Mapping {}

/// Mappings that wait to be used again.
#[derive(Debug)]
struct Spares {
    /// The oldest first.
    mappings: Vec<Mapping>,
    /// The number of [`PreparedPages`].
    users: usize,
}

/// Memory that is prepared for copies. While there is any, spare memory is not freed.
#[derive(Debug)]
pub struct PreparedPages(());

impl Pages {
    /// Returns memory for this many words.
    ///
    /// # Errors
    ///
    /// Those of [mmap(2)](https://man7.org/linux/man-pages/man2/mmap.2.html).
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        // The next copy of the same buffer is often a little larger.
        let capacity = length.checked_next_multiple_of(LARGE / 8).unwrap_or(usize::MAX);
        let spare = try_spares().and_then(|mut spares| spares.take(length));
        let mapping = spare.map_or_else(|| Mapping::new(capacity), Ok)?;
        Ok(Self::of(mapping, length))
    }

    /// Uses the first `length` words of a mapping, which has as many.
    fn of(mapping: Mapping, length: usize) -> Self {
        let length = length.min(mapping.capacity);
        Self { words: mapping.words, mapping: Some(mapping), length }
    }

    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: `words` points to at least `length` words of the mapping, which are zero or were
        // written through `words_mut`.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.length) }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; the reference to `self` is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let Some(mapping) = self.mapping.take() else { return };
        let beyond = match try_spares() {
            Some(mut spares) => spares.keep(mapping, SPARE),
            None => vec![mapping],
        };
        // Outside of the lock.
        drop(beyond);
    }
}

/// Returns the spares. `None` if another thread has the lock: it may have a lower priority, and a
/// copy must not wait for it.
fn try_spares() -> Option<MutexGuard<'static, Spares>> {
    match SPARES.try_lock() {
        Ok(spares) => Some(spares),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Prepares memory for a copy of this many bytes, whose pages are present: the first copy then has
/// no page fault. Returns `None` if copies of this size have no pages of their own, or there is no
/// memory.
pub fn prepare_spare(bytes: usize) -> Option<PreparedPages> {
    if bytes / 8 < LEAST || bytes > SPARE - LARGE {
        return None;
    }
    let mapping = Mapping::new((bytes / 8).next_multiple_of(LARGE / 8)).ok()?;
    mapping.populate();
    let mut spares = spares();
    spares.users += 1;
    let beyond = spares.keep(mapping, SPARE);
    drop(spares);
    // Outside of the lock.
    drop(beyond);
    Some(PreparedPages(()))
}

/// Frees the memory of copies that waits to be used again, unless some is prepared for others.
pub fn free_spares() {
    let unused = spares().take_unused();
    // Outside of the lock.
    drop(unused);
}

impl Drop for PreparedPages {
    fn drop(&mut self) {
        spares().users -= 1;
        free_spares();
    }
}

fn spares() -> MutexGuard<'static, Spares> {
    SPARES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Spares {
    const fn new() -> Self {
        Self { mappings: Vec::new(), users: 0 }
    }

    /// Removes and returns all mappings if nobody has prepared any.
    fn take_unused(&mut self) -> Vec<Mapping> {
        match self.users {
            0 => std::mem::take(&mut self.mappings),
            _ => Vec::new(),
        }
    }

    /// Returns and removes the smallest mapping that has space for this many words, unless it is
    /// more than twice as large.
    fn take(&mut self, length: usize) -> Option<Mapping> {
        let fits =
            |mapping: &Mapping| (length..=length.saturating_mul(2)).contains(&mapping.capacity);
        let fitting = self.mappings.iter().enumerate().filter(|(_, mapping)| fits(mapping));
        let (index, _) = fitting.min_by_key(|(_, mapping)| mapping.capacity)?;
        Some(self.mappings.remove(index))
    }

    /// Adds a mapping. Returns and removes the oldest ones beyond `limit` bytes.
    fn keep(&mut self, mapping: Mapping, limit: usize) -> Vec<Mapping> {
        self.mappings.push(mapping);
        let mut bytes: usize = self.mappings.iter().map(|mapping| mapping.mapped).sum();
        let is_beyond = |mapping: &&Mapping| {
            let is_beyond = bytes > limit;
            bytes -= if is_beyond { mapping.mapped } else { 0 };
            is_beyond
        };
        let number = self.mappings.iter().take_while(is_beyond).count();
        self.mappings.drain(..number).collect()
    }
}

impl Mapping {
    fn new(capacity: usize) -> io::Result<Self> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let size = capacity.checked_mul(8).ok_or_else(too_large)?;
        // The kernel may place it anywhere between two borders. Unused pages take no memory.
        let mapped = size.checked_add(LARGE).ok_or_else(too_large)?;
        let start = map(mapped)?;
        let before = start.as_ptr().addr().next_multiple_of(LARGE) - start.as_ptr().addr();
        // SAFETY: `before` is less than LARGE, by which the mapping is larger than `size`.
        let words = unsafe { start.byte_add(before) }.cast();
        let mapping = Self { start, mapped, words, capacity };
        mapping.prefer_large();
        Ok(mapping)
    }

    /// Requests large pages for the ranges that the words fill. Has no effect where the kernel or
    /// its administrator permits none. See
    /// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html), `MADV_HUGEPAGE`.
    fn prefer_large(&self) {
        let filled = self.capacity * 8 / LARGE * LARGE;
        // SAFETY: the range is within the mapping, and the advice changes no contents.
        unsafe { libc::madvise(self.words.as_ptr().cast(), filled, libc::MADV_HUGEPAGE) };
    }

    /// Makes the pages of the words present (`MADV_POPULATE_WRITE`, Linux 5.14). Returns whether
    /// they are.
    fn populate(&self) -> bool {
        let (start, size) = (self.words.as_ptr().cast(), self.capacity * 8);
        // SAFETY: the range is within the mapping, and its contents stay.
        unsafe { libc::madvise(start, size, libc::MADV_POPULATE_WRITE) == 0 }
    }
}

impl Drop for Mapping {
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
            let mut pages = Pages::of(Mapping::new(length).unwrap(), length);
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
            let pages = Pages::of(Mapping::new(length).unwrap(), length);
            let large = |number: usize| pages.words().as_ptr().addr() + number * LARGE;
            let found: Vec<_> = (0..4).map(|number| prefers_large(large(number))).collect();
            let expected: Vec<_> = (0..4).map(|number| number < requested).collect();
            // Behind the words may be the mapping of another test.
            let own = (length * 8).div_ceil(LARGE);
            assert_eq!(found[..own], expected[..own], "{length}");
        }
    }

    /// Returns the page faults of the calling thread.
    fn faults() -> i64 {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `usage` has space for the result.
        let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        assert_eq!(result, 0);
        // SAFETY: getrusage(2) succeeded, so all fields are set.
        unsafe { usage.assume_init() }.ru_minflt
    }

    #[test]
    fn prepared_pages_are_present() {
        let words = 2 * LARGE / 8;
        let mapping = Mapping::new(words).unwrap();
        if !mapping.populate() {
            return eprintln!("skipped: the kernel cannot populate pages");
        }
        let mut pages = Pages::of(mapping, words);
        let before = faults();
        pages.words_mut().fill(1);
        let faults = faults() - before;
        // The kernel may move or reclaim a few meanwhile.
        let pages = (words * 8 / 4096) as i64;
        assert!(faults < pages / 4, "{faults} faults of {pages} pages");
    }

    #[test]
    fn mappings_are_used_again_up_to_a_limit() {
        let mut spares = Spares::new();
        let [small, medium, large] =
            [1 << 10, 1 << 18, 1 << 19].map(|it| Mapping::new(it).unwrap());
        let all = small.mapped + medium.mapped + large.mapped;
        let starts = [small.start, medium.start, large.start];
        for mapping in [large, medium, small] {
            assert!(spares.keep(mapping, all).is_empty());
        }
        assert!(spares.take((1 << 19) + 1).is_none(), "all are too small");
        assert!(spares.take((1 << 9) - 1).is_none(), "all are too large");
        let medium = spares.take(1 << 17).unwrap();
        assert_eq!(medium.start, starts[1]);
        assert!(spares.take(1 << 17).is_none(), "it is taken");
        let removed = spares.keep(medium, all - 1);
        assert_eq!(removed.iter().map(|it| it.start).collect::<Vec<_>>(), [starts[2]]);
        assert_eq!(spares.mappings.len(), 2);
    }

    /// The end of another session must not free what this one has prepared.
    #[test]
    fn prepared_memory_stays_until_nobody_needs_it() {
        let mut spares = Spares::new();
        spares.users = 1;
        assert!(spares.keep(Mapping::new(1 << 18).unwrap(), SPARE).is_empty());
        assert!(spares.take_unused().is_empty());
        assert!(spares.take(1 << 18).is_some(), "it is still there");
        assert!(spares.keep(Mapping::new(1 << 18).unwrap(), SPARE).is_empty());
        spares.users = 0;
        assert_eq!((spares.take_unused().len(), spares.mappings.len()), (1, 0));
    }

    #[test]
    fn memory_is_prepared_for_copies_that_have_pages_of_their_own() {
        assert!(prepare_spare(LEAST * 8 - 8).is_none());
        assert!(prepare_spare(LEAST * 8).is_some());
        assert!(prepare_spare(SPARE).is_none());
    }

    /// Other tests may use the mapping meanwhile.
    #[test]
    fn memory_that_was_used_before_can_be_written() {
        for value in 1..5 {
            let mut pages = Pages::new(1 << 19).unwrap();
            pages.words_mut().fill(value);
            assert!(pages.words().iter().all(|word| *word == value));
            drop(pages);
            free_spares();
        }
    }

    #[test]
    fn copies_do_not_wait_for_a_thread_that_has_the_lock() {
        let spares = spares();
        let number = spares.mappings.len();
        let mut pages = Pages::new(1 << 18).unwrap();
        pages.words_mut().fill(1);
        drop(pages);
        assert_eq!(spares.mappings.len(), number);
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        for length in [usize::MAX, usize::MAX / 8, usize::MAX / 16] {
            assert!(Pages::new(length).is_err());
        }
    }
}
