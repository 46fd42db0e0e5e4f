//! The part of a log that is in memory.

use std::io::{self, ErrorKind, Read};

/// The most bytes that are read at once.
const MAX_BLOCK_BYTES: usize = 256 << 10;

/// The least bytes that are read at once.
const MIN_BLOCK_BYTES: usize = 4 << 10;

/// Bytes that have arrived and are not consumed yet.
///
/// The bytes that were consumed last stay in place until more arrive.
#[derive(Debug)]
pub(super) struct Window {
    bytes: Vec<u8>,
    start: usize,
    /// The place of `start` in the log.
    offset: u64,
    /// The number of bytes to skip that have not arrived yet.
    pending: u64,
    /// The number of bytes to read at once.
    block_bytes: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self::at(0, u64::MAX)
    }
}

impl Window {
    /// Starts at a place of the log where about `size` bytes are required.
    pub(super) fn at(offset: u64, size: u64) -> Self {
        let block_bytes = usize::try_from(size).unwrap_or(usize::MAX);
        let block_bytes = block_bytes.clamp(MIN_BLOCK_BYTES, MAX_BLOCK_BYTES);
        Self { bytes: Vec::new(), start: 0, offset, pending: 0, block_bytes }
    }

    /// Returns the place of the next byte in the log.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes that arrived.
    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Returns the next 8 bytes, if they arrived.
    #[inline]
    pub(super) fn word(&self) -> Option<&[u8; 8]> {
        self.rest().first_chunk()
    }

    /// Returns whether bytes to skip have not arrived yet.
    #[inline]
    pub(super) fn is_passing(&self) -> bool {
        self.pending > 0
    }

    /// Returns the number of bytes to skip that have not arrived yet.
    pub(super) fn pending(&self) -> u64 {
        self.pending
    }

    /// Consumes `size` bytes, which have arrived.
    #[inline]
    pub(super) fn take(&mut self, size: usize) {
        debug_assert!(size <= self.rest().len(), "consumes only bytes that arrived");
        self.start += size;
        self.offset += size as u64;
    }

    /// Returns the `size` bytes that were consumed last.
    #[inline]
    pub(super) fn taken(&self, size: usize) -> &[u8] {
        self.bytes.get(self.start - size..self.start).unwrap_or_default()
    }

    /// Skips `size` bytes, including those that have not arrived yet. Returns the number of those
    /// that have.
    pub(super) fn pass(&mut self, size: u64) -> usize {
        let now = usize::try_from(size).unwrap_or(usize::MAX).min(self.rest().len());
        self.take(now);
        self.pending = size - now as u64;
        now
    }

    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.move_to_front();
        self.bytes.extend_from_slice(bytes);
        self.pass(self.pending);
    }

    /// Reads one block; returns whether there was one.
    pub(super) fn read(&mut self, input: &mut impl Read) -> io::Result<bool> {
        self.move_to_front();
        let filled = self.bytes.len();
        self.bytes.resize(filled + self.block_bytes, 0);
        let result = read_once(input, self.bytes.get_mut(filled..).unwrap_or_default());
        let count = *result.as_ref().unwrap_or(&0);
        self.bytes.truncate(filled + count);
        self.pass(self.pending);
        result.map(|count| count > 0)
    }

    fn move_to_front(&mut self) {
        self.bytes.drain(..self.start);
        self.start = 0;
    }
}

fn read_once(input: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    let size = room.len();
    loop {
        match input.read(room) {
            // A broken `Read` may return more than there was room for.
            Ok(count) => return Ok(count.min(size)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
