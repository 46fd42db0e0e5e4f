//! Encoding and decoding of the fields of a message's body.

use super::{HEAD_SIZE, MAX_BODY, VERSION};

/// Appends fields after a message's head.
#[derive(Debug)]
pub(crate) struct BodyWriter {
    bytes: Vec<u8>,
    /// The longest body in bytes.
    limit: usize,
}

impl BodyWriter {
    pub(crate) fn with_head() -> Self {
        Self::with_limit(MAX_BODY as usize)
    }

    /// Creates a body of at most `limit` bytes, which may be longer than that of a message.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self { bytes: vec![0; HEAD_SIZE], limit }
    }

    /// Returns the body so far.
    pub(crate) fn body(&self) -> &[u8] {
        self.bytes.get(HEAD_SIZE..).unwrap_or_default()
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.u32(text.len() as u32);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends items until the body is full: a longer message would be refused.
    pub(crate) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        let count_at = self.bytes.len();
        self.u32(0);
        let mut count = 0u32;
        for item in items {
            let end = self.bytes.len();
            write(self, item);
            if self.bytes.len() > HEAD_SIZE + self.limit {
                self.bytes.truncate(end);
                break;
            }
            count += 1;
        }
        self.bytes[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
    }

    pub(crate) fn finish(mut self, kind: u16) -> Vec<u8> {
        let length = (self.bytes.len() - HEAD_SIZE) as u32;
        self.bytes[0..4].copy_from_slice(&length.to_le_bytes());
        self.bytes[4..6].copy_from_slice(&kind.to_le_bytes());
        self.bytes[6..8].copy_from_slice(&VERSION.to_le_bytes());
        self.bytes
    }
}

/// Decodes fields of an untrusted body. Every method returns `None` if bytes are missing.
#[derive(Debug)]
pub(crate) struct BodyReader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> BodyReader<'a> {
    pub(crate) fn new(untrusted: &'a [u8]) -> Self {
        Self { rest: untrusted, length: untrusted.len() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    pub(crate) fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.bytes(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(crate) fn string(&mut self) -> Option<String> {
        let length = usize::try_from(self.u32()?).ok()?;
        let text = std::str::from_utf8(self.bytes(length)?).ok()?;
        Some(text.to_owned())
    }

    /// Decodes a list. Memory is reserved by the bytes that are left, not by the untrusted count:
    /// each item has at least the four bytes of a string's length.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = usize::try_from(self.u32()?).ok()?;
        let mut items = Vec::with_capacity(count.min(self.rest.len() / 4));
        for _ in 0..count {
            items.push(read(self)?);
        }
        Some(items)
    }
}
