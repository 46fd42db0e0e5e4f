//! The words of one record, taken from the front, without panics.

use crate::words::as_bytes;

/// What is left of a record.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    words: &'a [u64],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(words: &'a [u64]) -> Self {
        Self { words }
    }

    /// Words left.
    pub(super) fn remaining(&self) -> usize {
        self.words.len()
    }

    pub(super) fn word(&mut self) -> Option<u64> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(*first)
    }

    pub(super) fn words(&mut self, count: usize) -> Option<&'a [u64]> {
        let (taken, rest) = self.words.split_at_checked(count)?;
        self.words = rest;
        Some(taken)
    }

    /// A stream of `length` bytes, padded to whole words.
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        as_bytes(self.words(length.div_ceil(8))?).get(..length)
    }
}
