//! Records of a sampling profiler.

use core::fmt;

use super::{Process, Thread};
use crate::layout::WORD_BYTES;

/// A program or library that a process has loaded (profiler type 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Module<'a> {
    /// The time of the observation, in ticks.
    pub ticks: u64,
    /// The process.
    pub process: Process,
    /// The module's id in the process.
    pub module_id: u16,
    /// The module's name, at most 255 bytes. [`encode`](crate::encode) cuts longer ones.
    pub name: &'a [u8],
    /// The build id, at most 255 bytes.
    pub build_id: &'a [u8],
}

/// A mapping of a module (profiler type 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mmap {
    /// The time of the observation, in ticks.
    pub ticks: u64,
    /// The process.
    pub process: Process,
    /// The module's id in the process.
    pub module_id: u16,
    /// The protection flags: readable (1), writable (2), executable (4). 3 bits are stored.
    pub flags: u8,
    /// The address of the mapping's first byte.
    pub start: u64,
    /// The mapping's length in bytes.
    pub length: u64,
    /// The address of the mapping's first byte within the module.
    pub module_address: u64,
}

/// A sample of a thread's call stack (profiler type 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backtrace<'a> {
    /// The time of the sample, in ticks.
    pub ticks: u64,
    /// The thread.
    pub thread: Thread,
    /// The return addresses, innermost first, at most 255.
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
    /// Returns the addresses in `words`, complete words of a record.
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

    /// Returns whether there are no addresses.
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

/// The iterator returned by [`Frames::iter`].
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

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn list_and_encoded_frames_are_the_same() {
        let bytes: Vec<u8> = [1u64, 2, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
        let list = Frames::from(&[1, 2, 3][..]);
        for frames in [list, Frames::encoded(&bytes)] {
            assert!(frames.iter().eq([1, 2, 3]));
            assert_eq!((frames.len(), frames.is_empty()), (3, false));
            assert_eq!(format!("{frames:?}"), "[1, 2, 3]");
            assert_eq!(frames, list);
            assert_ne!(frames, Frames::encoded(&bytes[8..]));
        }
        assert!(Frames::encoded(&[]).is_empty());
    }
}
