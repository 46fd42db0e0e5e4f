//! Why a log cannot be written.

use std::{fmt, io};

use super::{EncodeError, MIN_BUFFER_BYTES};

/// Why a record or a thread buffer was not written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The thread buffer has no room for the record.
    Full,
    /// The record does not fit an empty thread buffer.
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// The log's version has no such record, its payload is empty or too long, or its function has
    /// the id 0.
    Encode(EncodeError),
    /// The size of thread buffers is below [`MIN_BUFFER_BYTES`].
    BufferSize {
        /// The size.
        size: u64,
    },
    /// Writing to the output failed. The log is not complete.
    Io(io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "the thread buffer is full"),
            Self::TooLarge { size } => {
                write!(f, "a record of {size} bytes does not fit a thread buffer")
            }
            Self::Encode(_) => write!(f, "a record cannot be encoded"),
            Self::BufferSize { size } => {
                write!(f, "thread buffers of {size} bytes are too small, use {MIN_BUFFER_BYTES}")
            }
            Self::Io(_) => write!(f, "cannot write the log"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Encode(error) => Some(error),
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<EncodeError> for WriteError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
