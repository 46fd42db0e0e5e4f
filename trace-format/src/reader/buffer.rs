//! The part of an archive that is in memory.

use std::io::{self, ErrorKind, Read};

use crate::layout::WORD_BYTES;

/// The number of bytes to read at once.
const BLOCK_BYTES: usize = 256 << 10;

/// Bytes that were read, of which `start .. end` are not consumed yet.
///
/// The bytes consumed last stay in place until the next [`Buffer::fill`] or
/// [`Buffer::skip`].
#[derive(Debug)]
pub(super) struct Buffer<R> {
    input: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The place of `start` in the input.
    offset: u64,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, bytes: Vec::new(), start: 0, end: 0, offset: 0 }
    }

    /// Returns the place of the next byte in the input.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes that are there.
    #[inline]
    pub(super) fn filled(&self) -> usize {
        self.end - self.start
    }

    /// Returns the next word, if it is there.
    #[inline]
    pub(super) fn peek(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.start..self.end)?;
        bytes.first_chunk::<WORD_BYTES>().map(|word| u64::from_le_bytes(*word))
    }

    /// Moves behind the next `bytes` bytes, which must be there.
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

    /// Reads until at least `wanted` bytes are there or the input ends;
    /// returns how many of those are there.
    ///
    /// The memory taken grows with what the input yields, not with `wanted`.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        self.move_to_front();
        while self.end < wanted {
            if self.end == self.bytes.len() {
                let more = self.bytes.len().clamp(BLOCK_BYTES, 64 * BLOCK_BYTES);
                self.bytes.resize(self.end + more, 0);
            }
            if self.read_once()? == 0 {
                break;
            }
        }
        Ok(self.end.min(wanted))
    }

    /// Moves behind the next `wanted` bytes without keeping them; returns how
    /// many there were.
    pub(super) fn skip(&mut self, wanted: u64) -> io::Result<u64> {
        let mut skipped = 0;
        while skipped < wanted {
            let left = usize::try_from(wanted - skipped).unwrap_or(usize::MAX);
            let step = left.min(self.filled());
            self.consume(step);
            skipped += step as u64;
            if step < left && self.fill(1)? == 0 {
                break;
            }
        }
        Ok(skipped)
    }

    fn move_to_front(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
    }

    /// Reads once into the room behind `end`.
    fn read_once(&mut self) -> io::Result<usize> {
        let room = self.bytes.get_mut(self.end..).unwrap_or_default();
        let room_bytes = room.len();
        loop {
            match self.input.read(room) {
                // A broken `Read` may claim more than it was asked for.
                Ok(count) => {
                    self.end += count.min(room_bytes);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
