//! Why a file has no code of a name.

use std::fmt;

/// Why a file has no code of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceError {
    /// It is not an ELF file, or is malformed.
    Malformed,
    /// Its symbol tables have more than 256 MiB.
    TooLarge,
    /// It has no symbols of functions.
    Stripped,
    /// It has no function of this name.
    NoFunction,
    /// The name is that of a function which chooses another one when the program starts.
    Indirect,
    /// There is no code of the file at this address, or the function has fewer bytes.
    NoCode,
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the file is not an ELF file",
            Self::TooLarge => "the symbol tables have more than 256 MiB",
            Self::Stripped => "the file has no symbols of functions",
            Self::NoFunction => "the file has no such function",
            Self::Indirect => "the function chooses another one when the program starts",
            Self::NoCode => "the file has no code there",
        })
    }
}

impl std::error::Error for PlaceError {}
