//! Strings, threads and processes of a record: inline, or an index.

use crate::layout::{
    StringRef, ThreadKoids, ThreadRef, MAX_STRING_BYTES, MAX_STRING_INDEX, MAX_THREAD_INDEX,
};

/// A string of a record ("String References").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Text<'a> {
    /// An index in the string table, in `1 ..= 0x7fff`.
    Indexed(u16),
    /// An inline string. A correct provider writes UTF-8.
    ///
    /// [`encode`](crate::encode) cuts it to [`MAX_STRING_BYTES`].
    Inline(&'a [u8]),
}

impl<'a> Text<'a> {
    /// The empty string.
    pub const EMPTY: Text<'static> = Text::Inline(&[]);

    /// An unknown string: the index that a [`Writer`](crate::Writer) never registers.
    pub const UNKNOWN: Text<'static> = Text::Indexed(MAX_STRING_INDEX);

    /// Returns the string ref, and the bytes of an inline string.
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

/// Returns the longest prefix of `bytes` that has at most `max` bytes and does not end within a
/// UTF-8 character.
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

/// A thread of a record ("Thread References").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thread {
    /// An index in the thread table, in `1 ..= 255`.
    ///
    /// Index 0 is encoded as the unknown thread, inline.
    Indexed(u8),
    /// An inline thread.
    Inline(ThreadKoids),
}

impl Thread {
    /// An unknown thread: the index that a [`Writer`](crate::Writer) never registers.
    pub const UNKNOWN: Self = Self::Indexed(MAX_THREAD_INDEX);

    /// Returns the thread ref, and the koids of an inline thread.
    #[inline]
    pub(crate) fn stored(self) -> (ThreadRef, Option<ThreadKoids>) {
        match self {
            Self::Indexed(0) => (ThreadRef::INLINE, Some(ThreadKoids::UNKNOWN)),
            Self::Indexed(index) => (ThreadRef::indexed(index), None),
            Self::Inline(koids) => (ThreadRef::INLINE, Some(koids)),
        }
    }
}

/// A process of a record, stored as a thread ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Process {
    /// The process of the thread with this index in the thread table, in `1 ..= 255`.
    ///
    /// Index 0 is encoded as koid 0, inline.
    Indexed(u8),
    /// The koid of an inline process.
    Inline(u64),
}

impl Process {
    /// Returns the thread ref, and the koid of an inline process.
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
