//! Why a log, or a part of it, cannot be read.

use std::{fmt, io};

use super::{DecodeError, HeaderError};
use crate::layout::MetadataKind;

/// Why the next record cannot be read.
///
/// Offsets are in bytes from the start of the log. The [module](super) lists the position after
/// each error.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading the input failed.
    Io {
        /// The first byte that was not read.
        offset: u64,
        /// The input's error.
        error: io::Error,
    },
    /// The log has no valid header.
    Header {
        /// The header.
        offset: u64,
        /// What is wrong.
        error: HeaderError,
    },
    /// A record cannot be decoded.
    Record {
        /// The record.
        offset: u64,
        /// What is wrong.
        error: DecodeError,
    },
    /// A record reaches beyond the end of its thread buffer.
    Overrun {
        /// The record.
        offset: u64,
        /// Its size.
        size: u64,
        /// The bytes up to the end of the thread buffer.
        left: u64,
    },
    /// A function record has the id 0. It is skipped, but its time counts.
    NoFunction {
        /// The record.
        offset: u64,
    },
    /// A record is not allowed at this place of a thread buffer.
    Unexpected {
        /// The record.
        offset: u64,
        /// Its kind, `None` for a function record.
        kind: Option<MetadataKind>,
    },
    /// A thread buffer ends before its first CPU record.
    NoStart {
        /// The end of the thread buffer.
        offset: u64,
    },
    /// A thread buffer has zeros in place of records.
    Zeros {
        /// The first zero.
        offset: u64,
        /// The bytes up to the end of the thread buffer, if it is known.
        left: Option<u64>,
    },
    /// A thread buffer of version 1 has no EndOfBuffer record.
    NoEndOfBuffer {
        /// Where it should be.
        offset: u64,
    },
    /// Another thread buffer begins before the end that the BufferExtents record gives.
    WrongExtents {
        /// Where it begins.
        offset: u64,
        /// The bytes up to that end.
        left: u64,
    },
    /// The payload of an event is beyond the limit.
    PayloadTooLarge {
        /// The record.
        offset: u64,
        /// Its size.
        size: u64,
        /// [`Limits::payload_bytes`](super::Limits).
        limit: usize,
    },
    /// The bytes between thread buffers are unknown.
    NotABuffer {
        /// Its start.
        offset: u64,
    },
    /// The padding behind a thread buffer of version 1 is longer than the rest of the file. Thread
    /// buffers in it are not read.
    PaddingTruncated {
        /// The start of the padding.
        offset: u64,
        /// The bytes that are expected there.
        expected: u64,
        /// The bytes that are there.
        found: u64,
    },
    /// The log ends within a thread buffer.
    Truncated {
        /// The first record that is not complete, or the end of the log.
        offset: u64,
        /// The bytes that are expected there.
        expected: u64,
        /// The bytes that are there.
        found: u64,
    },
    /// Errors that [`Ordered`](super::Ordered) does not return one by one, because there are too
    /// many.
    More {
        /// The last one.
        offset: u64,
        /// Their number.
        number: u64,
    },
}

impl ReadError {
    /// Returns whether the log cannot be read further.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::Io { .. }
                | Self::Header { .. }
                | Self::PaddingTruncated { .. }
                | Self::Truncated { .. }
        )
    }

    /// Returns the place of the error, in bytes from the start of the log.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match self {
            Self::Io { offset, .. }
            | Self::Header { offset, .. }
            | Self::Record { offset, .. }
            | Self::Overrun { offset, .. }
            | Self::NoFunction { offset }
            | Self::Unexpected { offset, .. }
            | Self::NoStart { offset }
            | Self::Zeros { offset, .. }
            | Self::NoEndOfBuffer { offset }
            | Self::WrongExtents { offset, .. }
            | Self::PayloadTooLarge { offset, .. }
            | Self::NotABuffer { offset }
            | Self::PaddingTruncated { offset, .. }
            | Self::Truncated { offset, .. }
            | Self::More { offset, .. } => *offset,
        }
    }

    /// Returns the number of errors that it reports.
    #[must_use]
    pub fn number(&self) -> u64 {
        match self {
            Self::More { number, .. } => *number,
            _ => 1,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { offset, .. } => write!(f, "cannot read the log at byte {offset}"),
            Self::Header { offset, .. } => write!(f, "invalid header at byte {offset}"),
            Self::Record { offset, .. } => write!(f, "invalid record at byte {offset}"),
            Self::Overrun { offset, size, left } => write!(
                f,
                "the record at byte {offset} has {size} bytes, its thread buffer only {left}"
            ),
            Self::NoFunction { offset } => {
                write!(f, "the function record at byte {offset} is of function 0")
            }
            Self::Unexpected { offset, kind: Some(kind) } => {
                write!(f, "a {kind} record is not allowed at byte {offset}")
            }
            Self::Unexpected { offset, kind: None } => {
                write!(f, "a function record is not allowed at byte {offset}")
            }
            Self::NoStart { offset } => {
                write!(f, "the thread buffer that ends at byte {offset} has no CPU record")
            }
            Self::Zeros { offset, left: Some(left) } => write!(
                f,
                "the thread buffer has zeros at byte {offset}; its last {left} bytes are ignored"
            ),
            Self::Zeros { offset, left: None } => {
                write!(f, "the thread buffer has zeros at byte {offset}")
            }
            Self::NoEndOfBuffer { offset } => {
                write!(f, "the EndOfBuffer record at byte {offset} is missing")
            }
            Self::WrongExtents { offset, left } => write!(
                f,
                "another thread buffer starts at byte {offset}, {left} bytes before the end of the \
                 one before"
            ),
            Self::PayloadTooLarge { offset, size, limit } => write!(
                f,
                "the record at byte {offset} has {size} bytes; its payload exceeds {limit} bytes"
            ),
            Self::NotABuffer { offset } => write!(f, "no thread buffer starts at byte {offset}"),
            Self::PaddingTruncated { offset, expected, found } => write!(
                f,
                "the padding behind the thread buffer is cut off at byte {offset}: {found} of \
                 {expected} bytes"
            ),
            Self::Truncated { offset, expected, found } => {
                write!(f, "the log is cut off at byte {offset}: {found} of {expected} bytes")
            }
            Self::More { offset, number } => {
                write!(f, "{number} more errors, the last one at byte {offset}")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Header { error, .. } => Some(error),
            Self::Record { error, .. } => Some(error),
            _ => None,
        }
    }
}
