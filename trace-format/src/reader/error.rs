//! Why an archive could not be read, or a part of it.

use std::io::ErrorKind;
use std::{fmt, io};

use crate::decode::DecodeError;

/// Why the next record could not be read.
///
/// All offsets are in bytes from the archive's start to the record's.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading the input failed.
    Io {
        /// The record that was to be read.
        offset: u64,
        /// What the input said.
        error: io::Error,
    },
    /// The input starts neither with the magic number record nor with another
    /// well-formed one.
    NotAnArchive {
        /// What it starts with; `None` if it has less than 8 bytes.
        first_word: Option<u64>,
    },
    /// The content of a record is wrong; reading can go on.
    Record {
        /// The record.
        offset: u64,
        /// What is wrong.
        error: DecodeError,
    },
    /// A record is beyond the limit and was passed over; reading can go on.
    RecordTooLarge {
        /// The record.
        offset: u64,
        /// Its size.
        bytes: u64,
        /// The largest size allowed, [`Limits::record_bytes`](super::Limits).
        limit: u64,
    },
    /// The archive ends before its last record does.
    Truncated {
        /// The record.
        offset: u64,
        /// Its size in bytes, or that of its header word.
        expected: u64,
        /// The bytes that are there.
        found: u64,
    },
    /// A record's size is 0, so the next record cannot be found.
    SizeZero {
        /// The record.
        offset: u64,
    },
    /// There are too many providers.
    TooManyProviders {
        /// The metadata record of the first one too many.
        offset: u64,
        /// The most allowed, [`Limits::providers`](super::Limits).
        limit: usize,
    },
}

impl ReadError {
    /// Tells whether nothing more can be read from the archive.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Record { .. } | Self::RecordTooLarge { .. })
    }

    /// Tells whether there is no archive, or none that can be read; else it is
    /// damage to one, and what was read before it counts. So it does where the
    /// input ends before it should, as compressed data that is cut off.
    #[must_use]
    pub fn is_no_archive(&self) -> bool {
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
            Self::Record { offset, .. } => write!(f, "bad record at byte {offset}"),
            Self::RecordTooLarge { offset, bytes, limit } => write!(
                f,
                "the record at byte {offset} has {bytes} bytes, more than {limit}; it is left out"
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
