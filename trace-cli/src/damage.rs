//! Telling what is missing in an archive, or cannot be read of it.

use std::error::Error;
use std::path::Path;

use anyhow::{Context, Result};
use trace_convert::{ConvertError, Damage};

use crate::{exit, input, say};

/// Tells the user what is missing in the archive at `path`; returns the exit
/// code that goes with it.
pub(crate) fn tell(path: &Path, damage: &Damage) -> u8 {
    let name = path.display();
    let counts = [
        ("records dropped while recording", damage.records_dropped),
        ("full buffers while recording", damage.buffers_full),
        ("malformed records, left out", damage.stats.bad_records),
    ];
    for (what, number) in counts.iter().filter(|(_, number)| *number > 0) {
        say(&format!("'{name}': {what}: {number}"));
    }
    if let Some(error) = &damage.first_bad_record {
        say(&format!("'{name}': the first malformed record: {}", chain(error)));
    }
    if let Some(error) = &damage.cut {
        say(&format!("'{name}': {error}; what stands before it counts"));
    }
    if damage.is_readable() {
        exit::OK
    } else {
        exit::INCOMPLETE
    }
}

/// Passes a result on, with an error as the user should read it.
pub(crate) fn explained<T>(path: &Path, result: Result<T, ConvertError>) -> Result<T> {
    result.map_err(|error| match error {
        ConvertError::Read(error) => input::explain(path, error),
        // There is no output yet: it is a temporary file.
        ConvertError::Write(error) => {
            anyhow::Error::new(error).context(format!("cannot go through '{}'", path.display()))
        }
        error => error.into(),
    })
}

/// The same where something is written to `output` too.
pub(crate) fn explained_writing<T>(
    path: &Path,
    output: &Path,
    result: Result<T, ConvertError>,
) -> Result<T> {
    match result {
        Err(ConvertError::Write(error)) => {
            Err(error).with_context(|| format!("cannot write '{}'", output.display()))
        }
        result => explained(path, result),
    }
}

/// Returns an error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
