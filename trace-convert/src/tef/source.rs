//! A window on the text of a document.

use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

use crate::json_error::Position;

/// The minimum size of the buffer, in bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// A buffer that moves over the text.
#[derive(Debug)]
pub(super) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    /// The bytes of `buffer` that are filled.
    filled: usize,
    /// The position: bytes of `buffer` that were consumed.
    pub(super) at: usize,
    is_ended: bool,
    /// The maximum size of an item.
    limit: usize,
    /// The bytes and line feeds of the text before the buffer, and the start of its last line.
    bytes_before: u64,
    lines_before: u64,
    line_start: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            limit,
            buffer: Vec::new(),
            filled: 0,
            at: 0,
            is_ended: false,
            bytes_before: 0,
            lines_before: 0,
            line_start: 0,
        }
    }

    /// Returns the text from the position.
    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..self.filled).unwrap_or_default()
    }

    /// Returns text of the buffer.
    #[inline]
    pub(super) fn window(&self, start: usize, length: usize) -> &[u8] {
        self.buffer.get(start..start + length).unwrap_or_default()
    }

    /// Returns the size of the buffer.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// Reads more text; returns `false` at the end of the input.
    ///
    /// Callers scan the text again from the position. Therefore each call doubles its size.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        self.make_space();
        let before = self.filled;
        let target = self.buffer.len().min(before * 2).max(before + 1);
        while self.filled < target && !self.is_ended {
            let free = self.buffer.get_mut(self.filled..).unwrap_or_default();
            match self.input.read(free) {
                Ok(0) => self.is_ended = true,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.filled > before)
    }

    /// Removes consumed text, and doubles the buffer if it is still full.
    fn make_space(&mut self) {
        let done = self.buffer.get(..self.at).unwrap_or_default();
        let (lines, last) = lines(done);
        self.lines_before += lines;
        if let Some(last) = last {
            self.line_start = self.bytes_before + last as u64 + 1;
        }
        self.bytes_before += self.at as u64;
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        if self.filled < BLOCK_BYTES / 2 && self.buffer.len() > 4 * BLOCK_BYTES {
            // A huge event must not keep its memory.
            self.buffer.truncate(BLOCK_BYTES);
            self.buffer.shrink_to_fit();
        }
        let size = (self.filled * 2).min(self.limit + BLOCK_BYTES).max(BLOCK_BYTES);
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
    }

    /// Returns the place `distance` bytes after the position.
    pub(super) fn position(&self, distance: usize) -> Position {
        let end = self.filled.min(self.at + distance);
        let (lines, last) = lines(self.buffer.get(..end).unwrap_or_default());
        let offset = self.bytes_before + end as u64;
        let start = last.map_or(self.line_start, |last| self.bytes_before + last as u64 + 1);
        Position { offset, line: self.lines_before + lines + 1, column: offset - start + 1 }
    }
}

/// Returns the number of line feeds, and the place of the last one.
fn lines(text: &[u8]) -> (u64, Option<usize>) {
    (memchr_iter(b'\n', text).count() as u64, memrchr(b'\n', text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_do_not_depend_on_the_window() {
        let text = "ab\ncd\n\nef";
        let mut source = Source::new(text.as_bytes(), usize::MAX / 2);
        source.fill().unwrap();
        let expected = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (4, 1), (4, 2)];
        for (at, (line, column)) in expected.into_iter().enumerate() {
            let place = Position { offset: at as u64, line, column };
            source.at = 0;
            assert_eq!(source.position(at), place);
        }
        for (at, (line, column)) in expected.into_iter().enumerate() {
            let place = Position { offset: at as u64, line, column };
            assert_eq!(source.position(0), place);
            source.is_ended = false;
            assert!(!source.fill().unwrap());
            assert_eq!(source.position(0), place);
            source.at += 1;
        }
    }

    /// A pipe has 64 KiB at a time.
    #[test]
    fn long_texts_are_read_in_few_pieces() {
        struct Pipe(usize);
        impl Read for Pipe {
            fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
                let count = self.0.min(room.len()).min(64 << 10);
                self.0 -= count;
                Ok(count)
            }
        }
        let mut source = Source::new(Pipe(40 << 20), 30 << 20);
        let mut fills = 0;
        while source.rest().len() <= 30 << 20 && source.fill().unwrap() {
            fills += 1;
        }
        assert!(fills <= 12, "{fills}");
        assert!(source.buffer.len() <= (30 << 20) + BLOCK_BYTES);
    }

    #[test]
    fn the_window_grows_and_shrinks() {
        let text = vec![b'x'; 3 << 20];
        let mut source = Source::new(&text[..], usize::MAX / 2);
        while source.fill().unwrap() {}
        assert_eq!(source.rest().len(), text.len());
        source.at = text.len();
        source.is_ended = false;
        source.fill().unwrap();
        assert!(source.buffer.capacity() < 1 << 20);
        assert_eq!(source.position(0).offset, text.len() as u64);
    }
}
