//! Why an archive cannot become a log.

use std::io;

use trace_format::ReadError;

use crate::map::MapError;
use crate::write::WriteError;

/// Why an archive cannot be converted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The archive cannot be read.
    Read(ReadError),
    /// The log cannot be written.
    Write(WriteError),
    /// There are more functions than ids.
    Map(MapError),
    /// A temporary file cannot be used.
    Temporary(io::Error),
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(_) => write!(f, "cannot read the archive"),
            Self::Write(error) => error.fmt(f),
            Self::Map(_) => write!(f, "cannot make the map"),
            Self::Temporary(_) => write!(f, "cannot use a temporary file"),
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Read(error) => error,
            // Its message is that of this error.
            Self::Write(error) => return error.source(),
            Self::Map(error) => error,
            Self::Temporary(error) => error,
        })
    }
}

impl From<ReadError> for ExportError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<WriteError> for ExportError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn a_write_error_is_named_once() {
        let error = ExportError::from(WriteError::from(io::Error::other("no space left")));
        assert_eq!(error.to_string(), "cannot write the log");
        assert_eq!(error.source().unwrap().to_string(), "no space left");
        let error = ExportError::from(WriteError::Full);
        assert_eq!(
            (error.to_string().as_str(), error.source().is_none()),
            ("the thread buffer is full", true)
        );
    }
}
