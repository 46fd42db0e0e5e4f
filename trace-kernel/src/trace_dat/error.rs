//! Errors of files of trace-cmd.

use std::{fmt, io};

use crate::format::FormatError;
use crate::page::PageError;

/// A file that cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceDatError {
    /// Reading failed, or the file ends early.
    Io(io::Error),
    /// The file does not begin with [`MAGIC`](super::MAGIC).
    NoMagic,
    /// The file has a version other than 6 and 7.
    Version(String),
    /// The file is compressed by an unsupported algorithm.
    Compression(String),
    /// Data at this place cannot be decompressed.
    Compressed {
        /// In bytes from the start of the file.
        offset: u64,
    },
    /// Data at this place has more bytes than this crate reads at a time.
    TooLarge {
        /// In bytes from the start of the file.
        offset: u64,
        /// The most bytes that it may have.
        limit: u64,
    },
    /// The pages of all CPUs that are read at a time have more bytes than this.
    Memory(usize),
    /// A part of the file is malformed.
    Malformed(&'static str),
    /// The kernel's page or event header is unsupported.
    Format(FormatError),
    /// A page is malformed.
    Page {
        /// The CPU that it belongs to.
        cpu: u16,
        /// What is wrong with it.
        error: PageError,
    },
}

impl fmt::Display for TraceDatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "the file is truncated")
            }
            Self::Io(error) => error.fmt(f),
            Self::NoMagic => write!(f, "not a file of trace-cmd"),
            Self::Version(version) => write!(f, "unsupported version {version:?} of trace.dat"),
            Self::Compression(name) => write!(f, "unsupported compression {name:?}"),
            Self::Compressed { offset } => write!(f, "malformed compressed data at {offset}"),
            Self::TooLarge { offset, limit } => {
                write!(f, "the data at {offset} has more than {limit} bytes")
            }
            Self::Memory(limit) => write!(f, "pages of the CPUs need more than {limit} bytes"),
            Self::Malformed(part) => write!(f, "malformed {part}"),
            Self::Format(error) => error.fmt(f),
            Self::Page { cpu, error } => write!(f, "malformed page of CPU {cpu}: {error}"),
        }
    }
}

impl std::error::Error for TraceDatError {}

impl From<io::Error> for TraceDatError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<FormatError> for TraceDatError {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}
