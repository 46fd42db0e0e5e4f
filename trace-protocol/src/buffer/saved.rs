//! The files of a process that traces itself, and how much of its partial archive counts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::buffer::header::field;
use crate::buffer::memory::{ReadMapping, WriteMapping};
use crate::sync::Ordering;

/// The file that holds the buffer of a process that traces itself into `output`.
pub fn buffer_path(output: &Path) -> PathBuf {
    with_suffix(output, ".buffer")
}

/// The file that holds the archive `output` until it is complete.
pub fn partial_path(output: &Path) -> PathBuf {
    with_suffix(output, ".partial")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// In the buffer's header: which wraps the partial archive holds, and how long it is with them.
///
/// One word holds both, so that a kill leaves the old pair or the new one.
#[derive(Debug)]
pub struct SavedMark {
    mapping: WriteMapping,
}

/// Bits of the partial archive's length, in words; the low bits of the wraps' number are above
/// them.
const LENGTH_BITS: u32 = 40;

impl SavedMark {
    /// The mark of a new buffer: nothing is saved.
    pub fn new(mapping: WriteMapping) -> Self {
        Self { mapping }
    }

    /// Says that the wraps below `saved` are in the first `length` bytes of the partial archive.
    pub fn set(&self, saved: u32, length: u64) {
        let word = u64::from(saved) << LENGTH_BITS | (length / 8) & ((1 << LENGTH_BITS) - 1);
        self.mapping.words()[field::SAVED].store(word, Ordering::Release);
    }

    /// Returns the mark as bytes of the buffer, and their offset.
    pub fn bytes(&self) -> ([u8; 8], u64) {
        let word = self.mapping.words()[field::SAVED].load(Ordering::Relaxed);
        (word.to_le_bytes(), field::SAVED as u64 * 8)
    }

    /// Reads a mark: the wraps below the first number, modulo 2²⁴, are in that many bytes.
    pub fn read(mapping: &ReadMapping) -> (u32, u64) {
        let word = mapping.words().get(field::SAVED).map_or(0, |word| word.load(Ordering::Acquire));
        ((word >> LENGTH_BITS) as u32, (word & ((1 << LENGTH_BITS) - 1)) * 8)
    }
}
