//! Errors of inputs, explained to the user.

use std::path::Path;

use anyhow::{anyhow, Context, Result};
use trace_convert::ConvertError;
use trace_format::ReadError;
use trace_input::{json_error, InputKind};

use crate::message::HINT;

/// Returns a result with its error explained to the user.
pub(crate) fn explained<T>(path: &Path, result: Result<T, impl Into<ConvertError>>) -> Result<T> {
    result.map_err(|error| match error.into() {
        ConvertError::Read(error) => explain(path, error),
        // No output exists yet: this is a temporary file.
        ConvertError::Write(error) => {
            anyhow::Error::new(error).context(format!("cannot process {}", path.display()))
        }
        error => error.into(),
    })
}

/// Explains an error like [`explained`], for commands that write `output`.
pub(crate) fn explained_writing<T>(
    path: &Path,
    output: &Path,
    result: Result<T, ConvertError>,
) -> Result<T> {
    match result {
        Err(ConvertError::Write(error)) => {
            Err(error).with_context(|| format!("cannot write {}", output.display()))
        }
        result => explained(path, result),
    }
}

/// An error of an analysis that opens its input several times.
#[derive(Debug)]
pub(crate) enum Failed {
    Read(ReadError),
    Open(anyhow::Error),
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self::Open(error)
    }
}

impl Failed {
    /// Returns the error explained to the user.
    pub(crate) fn explained<T>(self, path: &Path) -> Result<T> {
        match self {
            Self::Read(error) => explained(path, Err(error)),
            Self::Open(error) => Err(error),
        }
    }
}

/// Returns the message for a file that cannot be read as an archive.
pub(crate) fn explain(path: &Path, error: ReadError) -> anyhow::Error {
    let name = path.display();
    match error {
        ReadError::NotAnArchive { first_word } => {
            anyhow!("cannot read {name}: not a trace archive{HINT}{}", no_archive_hint(first_word))
        }
        error => match json_error(&error) {
            Some(error) => anyhow!(
                "cannot read {name} as JSON: {error}\
                 {HINT}trace convert --lenient leaves out what cannot be read"
            ),
            None => anyhow::Error::new(error).context(format!("cannot read {name}")),
        },
    }
}

/// Returns a hint for a file that is no archive, by its first bytes.
fn no_archive_hint(first_word: Option<u64>) -> String {
    let hint = match first_word.map(u64::to_le_bytes) {
        None => "an archive has at least 8 bytes",
        Some([0x1f, 0x8b, ..]) => "it is compressed twice: unpack it with gzip -d",
        Some([0x28, 0xb5, 0x2f, 0xfd, ..]) => "it is compressed twice: unpack it with zstd -d",
        Some(_) => {
            let formats = InputKind::names();
            return format!(
                "it is none of {}; an FXT archive starts with the bytes 10 00 04 46 78 54 16 00",
                formats.join(", ")
            );
        }
    };
    hint.to_owned()
}
