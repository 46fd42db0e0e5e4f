//! Errors of writing.

use std::{fmt, io};

use crate::encode::EncodeError;

/// The reason why a record was not written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The record exceeds a limit of the format. Other records can still be written.
    Encode(EncodeError),
    /// The output failed. The archive may end within a record.
    Io(io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(_) => write!(f, "a record cannot be encoded"),
            Self::Io(_) => write!(f, "cannot write the trace"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Encode(error) => Some(error),
            Self::Io(error) => Some(error),
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
