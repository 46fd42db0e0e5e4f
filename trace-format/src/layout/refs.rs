//! References of records to strings and threads.

use super::{Field, MAX_STRING_BYTES};

type IsInline = Field<15, 15>;
type Value = Field<0, 14>;

/// A 16-bit reference to a string ("String References").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StringRef(u16);

impl StringRef {
    /// The empty string.
    pub const EMPTY: Self = Self(0);

    /// Returns the reference to entry `index` of the string table.
    ///
    /// `index` is in `1 ..= 0x7fff`. 0 returns [`StringRef::EMPTY`], and bit 15 is dropped.
    #[inline]
    #[must_use]
    pub const fn indexed(index: u16) -> Self {
        Self(Value::make(index as u64) as u16)
    }

    /// Returns the reference to an inline string of `bytes` bytes, at most [`MAX_STRING_BYTES`]. 0
    /// returns [`StringRef::EMPTY`].
    #[inline]
    #[must_use]
    pub const fn inline(bytes: usize) -> Self {
        debug_assert!(bytes <= MAX_STRING_BYTES);
        if bytes == 0 {
            return Self::EMPTY;
        }
        Self((IsInline::make(1) | Value::make(bytes as u64)) as u16)
    }

    /// Returns the reference with the value of a field. Every value is valid.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the value of a field.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the length of an inline string in bytes, or `None` for other references.
    #[inline]
    #[must_use]
    pub const fn inline_bytes(self) -> Option<usize> {
        if IsInline::get(self.0 as u64) == 1 {
            return Some(Value::get(self.0 as u64) as usize);
        }
        None
    }

    /// Returns the index in the string table, or `None` for the empty string and inline strings.
    #[inline]
    #[must_use]
    pub const fn index(self) -> Option<u16> {
        if self.0 == 0 || IsInline::get(self.0 as u64) == 1 {
            return None;
        }
        Some(self.0)
    }
}

/// An 8-bit reference to a thread ("Thread References").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadRef(u8);

impl ThreadRef {
    /// The reference to an inline thread: the record has its koids.
    pub const INLINE: Self = Self(0);

    /// Returns the reference to entry `index` of the thread table, in `1 ..= 255`. 0 returns
    /// [`ThreadRef::INLINE`].
    #[inline]
    #[must_use]
    pub const fn indexed(index: u8) -> Self {
        Self(index)
    }

    /// Returns the reference with the value of a field. Every value is valid.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the value of a field.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns whether the record has the thread's koids.
    #[inline]
    #[must_use]
    pub const fn is_inline(self) -> bool {
        self.0 == 0
    }
}

/// The koids (kernel object ids) of a thread and its process.
///
/// Both are 0 for an unknown thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ThreadKoids {
    /// The process's koid.
    pub process: u64,
    /// The thread's koid.
    pub thread: u64,
}

impl ThreadKoids {
    /// The unknown thread.
    pub const UNKNOWN: Self = Self::new(0, 0);

    /// Returns the thread `thread` of the process `process`.
    #[inline]
    #[must_use]
    pub const fn new(process: u64, thread: u64) -> Self {
        Self { process, thread }
    }
}
