//! What a JSON document needs before and after it is read.

use std::io::{self, Read};

use trace_convert::tef::{shift, JsonError, Limits};
use trace_format::ReadError;

/// Reads a document once, and returns by how many nanoseconds its times have to be later so that
/// none is negative. What is malformed is reported when the document is read again.
pub fn json_shift<R: Read>(open: impl Fn() -> io::Result<R>) -> u64 {
    shift(Limits { lenient: true, ..Limits::default() }, open).unwrap_or(0)
}

/// Returns the cause if a document could not be read.
#[must_use]
pub fn json_error(error: &ReadError) -> Option<&JsonError> {
    match error {
        ReadError::Io { error, .. } => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}
