//! The buffer of a decoder.

use crate::layout::WORD_BYTES;

/// The smallest growth of the buffer in bytes. Under a fuzzer blocks are small, so that short
/// archives also take several blocks, and clearing the blocks takes little time.
const BLOCK_BYTES: usize = if cfg!(fuzzing) { 256 } else { 256 << 10 };

/// Received bytes, of which `start .. end` are not consumed yet.
///
/// Consumed bytes stay in place until the next call of [`Buffer::space`].
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset of `start` in the archive, in bytes.
    offset: u64,
}

impl Buffer {
    /// Returns the offset of the next byte in the archive.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes that are not consumed yet.
    #[inline]
    pub(super) fn filled(&self) -> usize {
        self.end - self.start
    }

    /// Returns the next word, if it was received.
    #[inline]
    pub(super) fn peek(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.start..self.end)?;
        bytes.first_chunk::<WORD_BYTES>().map(|word| u64::from_le_bytes(*word))
    }

    /// Returns the next `bytes` bytes, if they were received.
    pub(super) fn front(&self, bytes: usize) -> Option<&[u8]> {
        self.bytes.get(self.start..self.end)?.get(..bytes)
    }

    /// Returns the next `bytes` bytes, mutable, if they were received.
    pub(super) fn front_mut(&mut self, bytes: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(self.start..self.end)?.get_mut(..bytes)
    }

    /// Consumes the next `bytes` bytes, which were received.
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

    /// Returns space for more bytes, at least one byte.
    ///
    /// The buffer at most doubles when it is full, so memory grows with the received bytes.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.bytes.len() {
            let more = self.bytes.len().clamp(BLOCK_BYTES, 64 * BLOCK_BYTES);
            self.bytes.resize(self.end + more, 0);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Adds the first `count` bytes of [`Buffer::space`] to the received bytes.
    pub(super) fn received(&mut self, count: usize) {
        // A broken `Read` may return a count larger than its buffer.
        self.end = self.end.saturating_add(count).min(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_doubles_up_to_a_limit() {
        let (mut buffer, mut growths) = (Buffer::default(), Vec::new());
        while buffer.filled() < 192 * BLOCK_BYTES {
            let space = buffer.space().len();
            growths.push(space / BLOCK_BYTES);
            buffer.received(space);
        }
        assert_eq!(growths, [1, 1, 2, 4, 8, 16, 32, 64, 64]);
    }

    #[test]
    fn consumed_bytes_make_space() {
        let mut buffer = Buffer::default();
        buffer.space().fill(7);
        buffer.received(BLOCK_BYTES);
        buffer.consume(BLOCK_BYTES - 3);
        assert_eq!((buffer.offset(), buffer.filled()), (BLOCK_BYTES as u64 - 3, 3));
        assert_eq!((buffer.consumed(2), buffer.front(3)), (&[7; 2][..], Some(&[7; 3][..])));
        assert_eq!((buffer.front(4), buffer.peek()), (None, None));
        assert_eq!(buffer.front_mut(4), None);
        assert_eq!(buffer.space().len(), BLOCK_BYTES - 3);
        assert_eq!((buffer.front(3), buffer.bytes.len()), (Some(&[7; 3][..]), BLOCK_BYTES));
    }

    #[test]
    fn a_count_beyond_the_space_is_limited() {
        let mut buffer = Buffer::default();
        let space = buffer.space().len();
        buffer.received(usize::MAX);
        assert_eq!(buffer.filled(), space);
    }
}
