//! Why a log cannot be converted.

use std::{fmt, io};

use crate::read::ReadError;
use crate::write::WriteError;
use crate::yaml_parser::YamlError;

/// Why a log cannot be converted from YAML or to it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The YAML is not that of a log.
    Yaml(YamlError),
    /// The binary log cannot be read.
    Log(ReadError),
    /// The file has logs of several clocks. YAML has one header.
    OtherClock {
        /// Where the first record of another clock is, in bytes from the start of the file.
        offset: u64,
    },
    /// The input cannot be read.
    Input(io::Error),
    /// The output cannot be written.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yaml(error) => error.fmt(f),
            Self::Log(error) => error.fmt(f),
            Self::OtherClock { offset } => {
                write!(f, "the log at byte {offset} has another clock, but YAML has one header")
            }
            Self::Input(_) => write!(f, "cannot read the log"),
            Self::Output(_) => write!(f, "cannot write the log"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Log(error) => error.source(),
            Self::Input(error) | Self::Output(error) => Some(error),
            Self::Yaml(_) | Self::OtherClock { .. } => None,
        }
    }
}

impl From<YamlError> for Error {
    fn from(error: YamlError) -> Self {
        Self::Yaml(error)
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io(error) => Self::Output(error),
            error => Self::Output(io::Error::other(error)),
        }
    }
}
