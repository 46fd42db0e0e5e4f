//! Errors of conversions.

use std::{fmt, io};

use trace_format::{ReadError, WriteError};

use crate::tef::JsonError;

/// Errors of conversions.
///
/// Damage within an archive is not an error: all readable records are converted, and the summary
/// reports the damage.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// The input is not an archive, or cannot be read.
    Read(ReadError),
    /// The input is not a document of the Trace Event Format, is malformed, or cannot be read.
    Json(JsonError),
    /// Writing the output failed. The output is unusable.
    Write(io::Error),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(_) | Self::Json(_) => write!(f, "cannot read the trace"),
            Self::Write(_) => write!(f, "cannot write the output"),
        }
    }
}

impl std::error::Error for ConvertError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Json(error) => Some(error),
            Self::Write(error) => Some(error),
        }
    }
}

impl From<ReadError> for ConvertError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for ConvertError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl From<JsonError> for ConvertError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

impl From<WriteError> for ConvertError {
    fn from(error: WriteError) -> Self {
        Self::Write(match error {
            WriteError::Io(error) => error,
            error => io::Error::other(error),
        })
    }
}
