//! The fields of records and descriptions.

use crate::byte_order::ByteOrder;

/// The longest text in bytes.
pub(super) const MAX_TEXT: usize = 4096;

/// Unread fields, in the byte order of the recorded machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) rest: &'a [u8],
    pub(super) order: ByteOrder,
}

impl<'a> Fields<'a> {
    pub(super) fn new(rest: &'a [u8], order: ByteOrder) -> Self {
        Self { rest, order }
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.number(8)
    }

    fn number(&mut self, size: usize) -> Option<u64> {
        self.order.number(self.bytes(size)?)
    }

    /// Returns the next bytes.
    pub(super) fn bytes(&mut self, size: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Returns the bytes of this many numbers of 8 bytes.
    pub(super) fn words(&mut self, number: u64) -> Option<&'a [u8]> {
        self.bytes(usize::try_from(number).ok()?.checked_mul(8)?)
    }

    /// Returns the last number of 8 bytes, `words` before the end.
    pub(super) fn word_from_end(&self, words: usize) -> Option<u64> {
        let place = self.rest.len().checked_sub(words.checked_mul(8)?)?;
        self.order.number_at(self.rest, place, 8)
    }

    /// Returns a string of a description: its size, which may include zeros, and its bytes.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.u32()?).ok()?;
        Some(Fields::new(self.bytes(size)?, self.order).until_zero())
    }

    /// Returns the bytes before the first zero.
    pub(super) fn until_zero(self) -> &'a [u8] {
        self.rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// Returns numbers of 8 bytes.
pub(super) fn numbers(bytes: &[u8], order: ByteOrder) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).filter_map(move |word| order.number(word))
}

/// Returns a text, up to the longest length.
pub(super) fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_TEXT).unwrap_or(bytes)).into_owned()
}
