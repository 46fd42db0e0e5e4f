//! Errors of files of perf.

use std::{fmt, io};

use crate::trace_dat::TraceDatError;

/// A file of perf that cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum PerfDataError {
    /// Reading failed, or the file ends early.
    Io(io::Error),
    /// The file does not begin with the magic number.
    NoMagic,
    /// The file has the first version of the format.
    OldFormat,
    /// The records are in further files of a directory.
    Directory,
    /// The file has no events.
    NoEvents,
    /// Records do not have the id of their event, although events have different fields.
    NoIds,
    /// A part of the file is malformed.
    Malformed(&'static str),
    /// A part of the file has more bytes than this crate reads.
    TooLarge(&'static str),
    /// The record at this place is malformed.
    Record {
        /// In bytes from the start of the records.
        offset: u64,
    },
    /// The formats of tracepoints are malformed.
    Formats(TraceDatError),
}

impl fmt::Display for PerfDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "the file is truncated")
            }
            Self::Io(error) => error.fmt(f),
            Self::NoMagic => write!(f, "not a file of perf"),
            Self::OldFormat => {
                write!(f, "unsupported version 1 of perf.data\nhint: record with a newer perf")
            }
            Self::Directory => write!(
                f,
                "the records are in further files of a directory\
                 \nhint: record without --threads, or write them to one file with perf inject"
            ),
            Self::NoEvents => write!(f, "the file has no events"),
            Self::NoIds => write!(f, "records do not have the ids of their events"),
            Self::Malformed(part) => write!(f, "malformed {part}"),
            Self::TooLarge(part) => write!(f, "too large: {part}"),
            Self::Record { offset } => write!(f, "malformed record at byte {offset} of the data"),
            Self::Formats(error) => write!(f, "formats of tracepoints: {error}"),
        }
    }
}

impl std::error::Error for PerfDataError {}

impl From<io::Error> for PerfDataError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<PerfDataError> for io::Error {
    fn from(error: PerfDataError) -> Self {
        match error {
            PerfDataError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
            error => Self::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }
}
