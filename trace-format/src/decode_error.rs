//! Errors of decoding.

use core::fmt;

/// The reason why a record cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The record's size is 0, so the next record cannot be found.
    SizeZero,
    /// The bytes end within the record.
    Truncated {
        /// The record's size in bytes.
        expected: u64,
        /// The number of available bytes.
        found: usize,
    },
    /// The record ends before one of its fields.
    Short {
        /// The field's name.
        what: &'static str,
        /// The field's place, in bytes from the record's start.
        at: usize,
    },
    /// The padding of a string or blob, up to the next word, is not zero.
    Padding {
        /// The field's name.
        what: &'static str,
        /// The field's place, in bytes from the record's start.
        at: usize,
    },
    /// A string is not UTF-8; [`strict`](crate::decode::strict) only.
    Utf8 {
        /// The field's name.
        what: &'static str,
        /// The field's place, in bytes from the record's start.
        at: usize,
    },
    /// A type is unknown; [`strict`](crate::decode::strict) only.
    UnknownType {
        /// `record` or `argument`.
        what: &'static str,
    },
    /// An argument's size is 0 or larger than the rest of the record. For
    /// [`strict`](crate::decode::strict) also: larger than the argument's content.
    ArgumentSize {
        /// The argument's size in words.
        words: u64,
        /// The argument's place, in bytes from the record's start.
        at: usize,
    },
    /// A trace info record of type 0 is not the magic number record.
    Magic {
        /// The record's header word.
        header: u64,
    },
    /// An initialization record has 0 ticks per second.
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
            Self::Magic { header } => write!(f, "wrong magic number record {header:#018x}"),
            Self::TickRateZero => write!(f, "the clock has 0 ticks per second"),
        }
    }
}

impl core::error::Error for DecodeError {}
