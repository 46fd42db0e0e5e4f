//! Why bytes are not a record.

use core::fmt;

/// Why a record could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The record's size is 0, so the next record cannot be found.
    SizeZero,
    /// The bytes end before the record does.
    Truncated {
        /// The record's size in bytes.
        expected: u64,
        /// The bytes that are there.
        found: usize,
    },
    /// The record ends before something that it says to contain.
    Short {
        /// What is missing.
        what: &'static str,
        /// Where it should be, in bytes from the record's start.
        at: usize,
    },
    /// The bytes behind a string or blob, up to the next word, are not zero.
    Padding {
        /// The string or blob.
        what: &'static str,
        /// Where it is, in bytes from the record's start.
        at: usize,
    },
    /// A string is not UTF-8; [`strict`](super::strict) only.
    Utf8 {
        /// The string.
        what: &'static str,
        /// Where it is, in bytes from the record's start.
        at: usize,
    },
    /// A type is unknown; [`strict`](super::strict) only.
    UnknownType {
        /// What has the type.
        what: &'static str,
    },
    /// An argument's size is 0 or larger than the rest of the record. For
    /// [`strict`](super::strict) also: larger than the argument's content.
    ArgumentSize {
        /// The argument's size in words.
        words: u64,
        /// Where the argument is, in bytes from the record's start.
        at: usize,
    },
    /// A magic number record without the magic number.
    Magic {
        /// The record's header word.
        header: u64,
    },
    /// An initialization record with no ticks per second.
    TickRateZero,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SizeZero => write!(f, "a record has size 0"),
            Self::Truncated { expected, found } => {
                write!(f, "a record of {expected} bytes is cut off after {found}")
            }
            Self::Short { what, at } => {
                write!(f, "the record ends before its {what}, at its byte {at}")
            }
            Self::Padding { what, at } => {
                write!(f, "the padding of the {what} at the record's byte {at} is not zero")
            }
            Self::Utf8 { what, at } => {
                write!(f, "the {what} at the record's byte {at} is not UTF-8")
            }
            Self::UnknownType { what } => write!(f, "unknown {what} type"),
            Self::ArgumentSize { words, at } => {
                write!(f, "an argument of {words} words does not fit, at the record's byte {at}")
            }
            Self::Magic { header } => write!(f, "a wrong magic number record, {header:#018x}"),
            Self::TickRateZero => write!(f, "a clock with 0 ticks per second"),
        }
    }
}

impl core::error::Error for DecodeError {}
