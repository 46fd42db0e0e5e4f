//! The memory that an event shares with this process: its ring buffer and its AUX area.

use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use rustix::param::page_size;

/// The places in `perf_event_mmap_page`, in bytes.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;
const AUX_HEAD: usize = 1056;
const AUX_TAIL: usize = 1064;
const AUX_OFFSET: usize = 1072;
const AUX_SIZE: usize = 1080;

/// The number of bytes that are copied at once.
const WORD: usize = size_of::<u64>();

/// A part of the file of an event.
#[derive(Debug)]
struct Memory {
    address: NonNull<u8>,
    /// In bytes.
    length: usize,
}

// SAFETY: the memory belongs to the process, and one `Memory` is its only user.
unsafe impl Send for Memory {}

impl Memory {
    fn map(file: impl AsFd, offset: u64, length: usize, access: ProtFlags) -> io::Result<Self> {
        // SAFETY: a new mapping at a place of the kernel's choice replaces no memory.
        let address =
            unsafe { mmap(ptr::null_mut(), length, access, MapFlags::SHARED, file, offset) }?;
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { address, length })
    }

    /// Appends `length` bytes from `start` on. Bytes beyond the end are left out.
    ///
    /// Others may write them meanwhile: each is one that was there at some time.
    fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        let start = start.min(self.length);
        let end = start + length.min(self.length - start);
        bytes.reserve(end - start);
        let mut at = start;
        while at < end {
            if at % WORD == 0 && end - at >= WORD {
                bytes.extend_from_slice(&self.word(at).load(Ordering::Relaxed).to_ne_bytes());
                at += WORD;
            } else {
                bytes.push(self.byte(at).load(Ordering::Relaxed));
                at += 1;
            }
        }
    }

    /// Returns a word, of which `offset` is a multiple of [`WORD`] and the end is in the memory.
    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset % WORD == 0 && offset + WORD <= self.length);
        // SAFETY: the assertion has shown that the word is in the memory.
        let place = unsafe { self.address.add(offset) };
        // SAFETY: a mapping begins with a page, so that the word is aligned, and is there as long
        // as `self`. This process accesses the memory by atomics only. The accesses of the kernel
        // and of the processor are not part of the program, and the hardware's: none is a data
        // race with an atomic one.
        unsafe { AtomicU64::from_ptr(place.as_ptr().cast()) }
    }

    /// Returns a byte, which is in the memory.
    fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < self.length);
        // SAFETY: the assertion has shown that the byte is in the memory.
        let place = unsafe { self.address.add(offset) };
        // SAFETY: as for a word. Bytes and words are mixed by loads only.
        unsafe { AtomicU8::from_ptr(place.as_ptr()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this value has the only pointer to the mapping, whose length this is.
        let _kept = unsafe { munmap(self.address.as_ptr().cast(), self.length) };
    }
}

/// The ring buffer of an event.
///
/// The kernel writes the bytes before the head, and those from the tail on are kept until this
/// process has moved the tail.
#[derive(Debug)]
pub(in super::super) struct Mapping {
    /// A page with the positions, then the bytes of the buffer.
    memory: Memory,
    page: usize,
    /// A power of two.
    size: usize,
}

impl Mapping {
    /// Maps a buffer of `size` bytes, a power of two of at least a page.
    pub(in super::super) fn new(file: impl AsFd, size: usize) -> io::Result<Self> {
        let page = page_size();
        let memory = Memory::map(file, 0, page + size, ProtFlags::READ | ProtFlags::WRITE)?;
        Ok(Self { memory, page, size })
    }

    pub(in super::super) fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of bytes that the kernel has ever written. They are visible.
    pub(in super::super) fn head(&self) -> u64 {
        self.position(DATA_HEAD).load(Ordering::Acquire)
    }

    /// Returns the number of bytes that this process has ever read.
    pub(in super::super) fn tail(&self) -> u64 {
        self.position(DATA_TAIL).load(Ordering::Relaxed)
    }

    /// Lets the kernel overwrite the bytes before `tail`. They have been read.
    pub(in super::super) fn set_tail(&self, tail: u64) {
        self.position(DATA_TAIL).store(tail, Ordering::Release);
    }

    /// Returns a position on the first page.
    fn position(&self, offset: usize) -> &AtomicU64 {
        self.memory.word(offset)
    }

    /// Appends `length` bytes of the buffer from `start` on. Bytes beyond its end are left out.
    ///
    /// The kernel does not write these bytes if they are between tail and head.
    pub(in super::super) fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        let start = start.min(self.size);
        self.memory.append_to(bytes, self.page + start, length);
    }
}

/// The AUX area of an event, which the processor writes, and its ring buffer.
///
/// If newer bytes overwrite older ones, the head is a place in the area, and what is read while the
/// event is on is a mixture. Otherwise head and tail are those of [`Mapping`].
#[derive(Debug)]
pub(in super::super) struct AuxMapping {
    memory: Memory,
    ring: Mapping,
}

impl AuxMapping {
    /// Maps an area of `size` bytes, a power of two of at least a page, behind the ring buffer.
    pub(in super::super) fn new(
        file: impl AsFd,
        ring: Mapping,
        size: usize,
        overwrites: bool,
    ) -> io::Result<Self> {
        let offset = (ring.page + ring.size) as u64;
        ring.position(AUX_OFFSET).store(offset, Ordering::Relaxed);
        ring.position(AUX_SIZE).store(size as u64, Ordering::Relaxed);
        // To the kernel, an area that this process may not write is one that is overwritten.
        let access = match overwrites {
            true => ProtFlags::READ,
            false => ProtFlags::READ | ProtFlags::WRITE,
        };
        let memory = Memory::map(file, offset, size, access)?;
        Ok(Self { memory, ring })
    }

    /// Returns the ring buffer.
    pub(in super::super) fn ring(&self) -> &Mapping {
        &self.ring
    }

    pub(in super::super) fn size(&self) -> usize {
        self.memory.length
    }

    /// Returns the number of bytes that were ever written, or the place behind the newest one. They
    /// are visible.
    pub(in super::super) fn head(&self) -> u64 {
        self.ring.position(AUX_HEAD).load(Ordering::Acquire)
    }

    /// Lets the processor overwrite the bytes before `tail`. They have been read.
    pub(in super::super) fn set_tail(&self, tail: u64) {
        self.ring.position(AUX_TAIL).store(tail, Ordering::Release);
    }

    /// Appends `length` bytes of the area from `start` on. Bytes beyond its end are left out. If
    /// the processor writes meanwhile, some are older than others.
    pub(in super::super) fn append_to(&self, bytes: &mut Vec<u8>, start: usize, length: usize) {
        self.memory.append_to(bytes, start, length);
    }
}
