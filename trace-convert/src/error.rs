//! Why an archive was not converted.

use std::{fmt, io};

use trace_format::{ReadError, WriteError};

use crate::tef::JsonError;

/// Why an archive was not converted.
///
/// Damage within an archive is no such reason: what can be read is converted,
/// and the summary tells about the rest.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// The input is not an archive, or reading it failed.
    Read(ReadError),
    /// The input is no document of the Trace Event Format, a part of it is
    /// wrong, or reading it failed.
    Json(JsonError),
    /// Writing the output failed; what was written is of no use.
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

/// Says of an error that it is about a temporary file, not about the output.
pub(crate) fn temporary(error: io::Error) -> io::Error {
    let place = std::env::temp_dir();
    let text = format!(
        "a temporary file in {}: {error}\nhint: set TMPDIR to another directory",
        place.display()
    );
    io::Error::new(error.kind(), text)
}
