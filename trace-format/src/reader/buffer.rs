//! The part of an archive that is in memory.

use crate::layout::WORD_BYTES;

/// The least number of bytes to make room for at once. Under a fuzzer archives are short: they are
/// read in several blocks all the same, and clearing the blocks does not take most of the time.
const BLOCK_BYTES: usize = if cfg!(fuzzing) { 256 } else { 256 << 10 };

/// Bytes that were received, of which `start .. end` are not consumed yet.
///
/// The bytes consumed last stay in place until [`Buffer::room`] is called.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The place of `start` in the archive.
    offset: u64,
}

impl Buffer {
    /// Returns the place of the next byte in the archive.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes that are not consumed yet.
    #[inline]
    pub(super) fn filled(&self) -> usize {
        self.end - self.start
    }

    /// Returns the next word, if all of it was received.
    #[inline]
    pub(super) fn peek(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.start..self.end)?;
        bytes.first_chunk::<WORD_BYTES>().map(|word| u64::from_le_bytes(*word))
    }

    /// Returns the next `bytes` bytes, if all of them were received.
    pub(super) fn front(&self, bytes: usize) -> Option<&[u8]> {
        self.bytes.get(self.start..self.end)?.get(..bytes)
    }

    /// Returns the next `bytes` bytes to be changed, if all of them were received.
    pub(super) fn front_mut(&mut self, bytes: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(self.start..self.end)?.get_mut(..bytes)
    }

    /// Moves behind the next `bytes` bytes, which were received.
    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.filled());
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Returns the `bytes` bytes consumed last.
    #[inline]
    pub(super) fn consumed(&self, bytes: usize) -> &[u8] {
        self.bytes.get(self.start - bytes..self.start).unwrap_or_default()
    }

    /// Returns space behind what was received, at least one byte. It doubles with what is kept, so
    /// that memory grows with the bytes received.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.bytes.len() {
            let more = self.bytes.len().clamp(BLOCK_BYTES, 64 * BLOCK_BYTES);
            self.bytes.resize(self.end + more, 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Adds the first `count` bytes of [`Buffer::room`] to what was received.
    pub(super) fn received(&mut self, count: usize) {
        // A broken `Read` may claim more than the space it was given.
        self.end = self.end.saturating_add(count).min(self.bytes.len());
    }
}
