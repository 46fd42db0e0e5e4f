//! Records of a sampling profiler.

use core::fmt;

use super::{Process, Thread};
use crate::layout::WORD_BYTES;

/// A program or library that a process has loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module<'a> {
    /// When it was seen, in ticks.
    pub ticks: u64,
    /// The process.
    pub process: Process,
    /// The module's id in the process.
    pub module_id: u16,
    /// The module's name, at most 255 bytes; a longer one is cut.
    pub name: &'a [u8],
    /// The build id, at most 255 bytes.
    pub build_id: &'a [u8],
}

/// Where a module is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mmap {
    /// When it was seen, in ticks.
    pub ticks: u64,
    /// The process.
    pub process: Process,
    /// The module's id in the process.
    pub module_id: u16,
    /// Readable (1), writable (2), executable (4); 3 bits are stored.
    pub flags: u8,
    /// The address of the first byte.
    pub start: u64,
    /// The number of bytes.
    pub length: u64,
    /// The address of the first byte within the module.
    pub module_address: u64,
}

/// A sample of a thread's call stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backtrace<'a> {
    /// When it was taken, in ticks.
    pub ticks: u64,
    /// The thread.
    pub thread: Thread,
    /// The return addresses, at most 255.
    pub frames: Frames<'a>,
}

/// The addresses of a backtrace, innermost first.
#[derive(Clone, Copy)]
pub struct Frames<'a>(Source<'a>);

#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    List(&'a [u64]),
    Encoded(&'a [u8]),
}

impl<'a> Frames<'a> {
    /// Takes whole words of a record.
    pub(crate) fn encoded(words: &'a [u8]) -> Self {
        Self(Source::Encoded(words))
    }

    /// Returns the number of addresses.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            Source::List(list) => list.len(),
            Source::Encoded(bytes) => bytes.len() / WORD_BYTES,
        }
    }

    /// Tells whether there are no addresses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the addresses in order.
    #[must_use]
    pub fn iter(&self) -> FramesIter<'a> {
        FramesIter(self.0)
    }
}

impl<'a> From<&'a [u64]> for Frames<'a> {
    fn from(list: &'a [u64]) -> Self {
        Self(Source::List(list))
    }
}

impl PartialEq for Frames<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Frames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The iterator of [`Frames::iter`].
#[derive(Debug, Clone)]
pub struct FramesIter<'a>(Source<'a>);

impl Iterator for FramesIter<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            Source::List(list) => {
                let (first, rest) = list.split_first()?;
                *list = rest;
                Some(*first)
            }
            Source::Encoded(bytes) => {
                let (first, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(u64::from_le_bytes(*first))
            }
        }
    }
}
