//! Strings and threads as they stand in a record.

use crate::layout::{
    StringRef, ThreadKoids, ThreadRef, MAX_STRING_BYTES, MAX_STRING_INDEX, MAX_THREAD_INDEX,
};

/// A string of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Text<'a> {
    /// The string with this index, in `1 ..= 0x7fff`, in the string table.
    Indexed(u16),
    /// The string itself, UTF-8 unless the provider got it wrong.
    ///
    /// When encoded it is cut to [`MAX_STRING_BYTES`].
    Inline(&'a [u8]),
}

impl<'a> Text<'a> {
    /// The empty string.
    pub const EMPTY: Text<'static> = Text::Inline(&[]);

    /// A string that is not there: an index that no [`Writer`](crate::Writer)
    /// registers.
    pub const UNKNOWN: Text<'static> = Text::Indexed(MAX_STRING_INDEX);

    /// Returns the reference to be stored and the bytes that go with it.
    #[inline]
    pub(crate) fn stored(self) -> (StringRef, &'a [u8]) {
        match self {
            Self::Indexed(index) => (StringRef::indexed(index), &[]),
            Self::Inline(bytes) => {
                let bytes = cut_bytes(bytes, MAX_STRING_BYTES);
                (StringRef::inline(bytes.len()), bytes)
            }
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self::Inline(text.as_bytes())
    }
}

/// Returns the longest start of `bytes` that has at most `max` bytes and does
/// not end within a character of UTF-8.
#[inline]
pub(crate) fn cut_bytes(bytes: &[u8], max: usize) -> &[u8] {
    if bytes.len() <= max {
        return bytes;
    }
    cut_slow(bytes, max)
}

#[cold]
fn cut_slow(bytes: &[u8], max: usize) -> &[u8] {
    let is_continuation = |byte: &u8| byte & 0xc0 == 0x80;
    let Some(next) = bytes.get(max) else {
        return bytes;
    };
    let kept = bytes.get(..max).unwrap_or_default();
    if !is_continuation(next) {
        return kept;
    }
    let tail = kept.iter().rev().take(3);
    let continuations = tail.take_while(|byte| is_continuation(byte)).count();
    kept.get(..max.saturating_sub(continuations + 1)).unwrap_or_default()
}

/// A thread of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thread {
    /// The thread with this index, in `1 ..= 255`, in the thread table.
    ///
    /// Index 0 does not exist; it is encoded as the unknown thread.
    Indexed(u8),
    /// The thread itself.
    Inline(ThreadKoids),
}

impl Thread {
    /// A thread that is not there: an index that no [`Writer`](crate::Writer)
    /// registers.
    pub const UNKNOWN: Self = Self::Indexed(MAX_THREAD_INDEX);

    /// Returns the reference to be stored and the koids that go with it.
    pub(crate) fn stored(self) -> (ThreadRef, Option<ThreadKoids>) {
        match self {
            Self::Indexed(0) => (ThreadRef::INLINE, Some(ThreadKoids::UNKNOWN)),
            Self::Indexed(index) => (ThreadRef::indexed(index), None),
            Self::Inline(koids) => (ThreadRef::INLINE, Some(koids)),
        }
    }
}

/// A process of a record, said by a thread ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Process {
    /// The process of the thread with this index, in `1 ..= 255`, in the
    /// thread table.
    ///
    /// Index 0 does not exist; it is encoded as koid 0.
    Indexed(u8),
    /// The process's koid.
    Inline(u64),
}

impl Process {
    /// Returns the reference to be stored and the koid that goes with it.
    pub(crate) fn stored(self) -> (ThreadRef, Option<u64>) {
        match self {
            Self::Indexed(0) => (ThreadRef::INLINE, Some(0)),
            Self::Indexed(index) => (ThreadRef::indexed(index), None),
            Self::Inline(koid) => (ThreadRef::INLINE, Some(koid)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_cut_between_characters() {
        assert_eq!(cut_bytes(b"abc", 3), b"abc");
        assert_eq!(cut_bytes(b"abc", 2), b"ab");
        assert_eq!(cut_bytes("a\u{e9}".as_bytes(), 2), b"a");
        assert_eq!(cut_bytes("ab\u{1f600}".as_bytes(), 5), b"ab");
        assert_eq!(cut_bytes("\u{1f600}".as_bytes(), 1), b"");
    }

    #[test]
    fn empty_text_has_no_inline_ref() {
        assert_eq!(Text::EMPTY.stored(), (StringRef::EMPTY, &[][..]));
    }
}
