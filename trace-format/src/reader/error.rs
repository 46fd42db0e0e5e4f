//! Errors of reading.

use std::io::ErrorKind;
use std::{fmt, io};

use crate::decode::DecodeError;

/// The reason why the next record cannot be read.
///
/// Offsets are those of records, in bytes from the archive's start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading the input failed.
    Io {
        /// The offset of the record.
        offset: u64,
        /// The input's error.
        error: io::Error,
    },
    /// The input starts neither with the magic number record nor with another well-formed record.
    NotAnArchive {
        /// The first word, or `None` if the input has less than 8 bytes.
        first_word: Option<u64>,
    },
    /// A record is malformed. Reading can continue.
    Record {
        /// The offset of the record.
        offset: u64,
        /// The defect.
        error: DecodeError,
    },
    /// A record beyond the limit was skipped. Reading can continue.
    RecordTooLarge {
        /// The offset of the record.
        offset: u64,
        /// The record's size in bytes.
        bytes: u64,
        /// The largest size in bytes, [`Limits::record_bytes`](super::Limits).
        limit: u64,
    },
    /// The archive ends within a record.
    Truncated {
        /// The offset of the record.
        offset: u64,
        /// The size in bytes of the record, or of a header word if that is incomplete.
        expected: u64,
        /// The number of available bytes.
        found: u64,
    },
    /// A record's size is 0, so the next record cannot be found.
    SizeZero {
        /// The offset of the record.
        offset: u64,
    },
    /// There are more providers than the limit.
    TooManyProviders {
        /// The offset of the metadata record of the first provider beyond the limit.
        offset: u64,
        /// The largest number, [`Limits::providers`](super::Limits).
        limit: usize,
    },
}

impl ReadError {
    /// Returns whether reading cannot continue.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Record { .. } | Self::RecordTooLarge { .. })
    }

    /// Returns whether the input is not an archive, or cannot be read.
    ///
    /// Any other error is damage to an archive, whose records before the error are valid. This
    /// includes an input that ends early, such as truncated compressed data.
    #[must_use]
    pub fn is_input_error(&self) -> bool {
        match self {
            Self::Io { offset, error } => *offset == 0 || error.kind() != ErrorKind::UnexpectedEof,
            Self::NotAnArchive { .. } => true,
            _ => false,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { offset, .. } => write!(f, "cannot read the trace at byte {offset}"),
            Self::NotAnArchive { first_word: Some(word) } => {
                write!(f, "not a trace: it starts with {word:#018x}")
            }
            Self::NotAnArchive { first_word: None } => {
                write!(f, "not a trace: it has less than 8 bytes")
            }
            Self::Record { offset, .. } => write!(f, "malformed record at byte {offset}"),
            Self::RecordTooLarge { offset, bytes, limit } => write!(
                f,
                "the record at byte {offset} has {bytes} bytes, more than {limit}; it is skipped"
            ),
            Self::Truncated { offset, expected, found } => write!(
                f,
                "the trace ends within the record at byte {offset}: {found} of {expected} bytes"
            ),
            Self::SizeZero { offset } => write!(f, "the record at byte {offset} has size 0"),
            Self::TooManyProviders { offset, limit } => {
                write!(f, "more than {limit} providers, at byte {offset}")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Record { error, .. } => Some(error),
            _ => None,
        }
    }
}
