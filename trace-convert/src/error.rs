//! Errors of conversions.

use std::io;

use trace_analyze::input::into_io;
use trace_format::{ReadError, WriteError};

use crate::json_error::JsonError;

/// Errors of conversions.
///
/// Damage within an archive is not an error: all readable records are converted, and the summary
/// reports the damage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The input is not an archive, or cannot be read.
    #[error("cannot read the trace")]
    Read(#[from] ReadError),
    /// The input is not a document of the Trace Event Format, is malformed, or cannot be read.
    #[error("cannot read the trace")]
    Json(#[from] JsonError),
    /// Writing the output failed. The output is unusable.
    #[error("cannot write the output")]
    Write(#[from] io::Error),
}

impl From<WriteError> for ConvertError {
    fn from(error: WriteError) -> Self {
        Self::Write(into_io(error))
    }
}
