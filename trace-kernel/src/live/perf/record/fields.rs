//! The fields of records.

/// The unread fields of a record, in this machine's byte order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    /// Returns the next bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Returns the next words.
    pub(super) fn words(&mut self, number: u64) -> Option<Vec<u64>> {
        let bytes = self.bytes(usize::try_from(number).ok()?.checked_mul(8)?)?;
        let words = bytes.chunks_exact(8).filter_map(|word| word.first_chunk());
        Some(words.map(|word| u64::from_ne_bytes(*word)).collect())
    }

    /// Returns the bytes before the first zero.
    pub(super) fn string(self) -> &'a [u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Returns the text before the first zero. The kernel cuts names at 15 bytes, so the last
    /// character may be incomplete.
    pub(super) fn text(self) -> Box<str> {
        let bytes = self.string();
        match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => {
                String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default()).into()
            }
        }
    }
}
