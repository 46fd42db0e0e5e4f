//! Errors of documents.

use std::{fmt, io};

/// A defect of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A value is missing: an object, array, string, number, `true`, `false` or `null`. `NaN` and
    /// `Infinity` are not JSON.
    Value,
    /// The key of an object, in quotes, is missing.
    Key,
    /// The colon after a key is missing.
    Colon,
    /// A comma or the end of an array is missing.
    CommaOrBracket,
    /// A comma or the end of an object is missing.
    CommaOrBrace,
    /// A number is not valid JSON.
    Number,
    /// A string has an escape that JSON does not have.
    Escape,
    /// A string has a control character, such as a line feed, without an escape.
    ControlCharacter,
    /// Values are nested more than 1000 deep.
    TooDeep,
    /// The document does not start with `[` or `{`.
    Document,
    /// `traceEvents` is missing, or is not an array.
    NoEvents,
    /// An event is not an object.
    Event,
    /// The text is not UTF-8.
    Utf8,
    /// An event or member is longer than the limit.
    TooLarge,
    /// The document is incomplete.
    End,
    /// Data follows the end of the document.
    TrailingData,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "expected a value",
            Self::Key => "expected a key in quotes",
            Self::Colon => "expected a colon",
            Self::CommaOrBracket => "expected a comma or `]`",
            Self::CommaOrBrace => "expected a comma or `}`",
            Self::Number => "invalid number",
            Self::Escape => "invalid escape",
            Self::ControlCharacter => "control character without an escape",
            Self::TooDeep => "values are nested more than 1000 deep",
            Self::Document => "expected `{` or `[`",
            Self::NoEvents => "expected the array `traceEvents`",
            Self::Event => "event is not an object",
            Self::Utf8 => "invalid UTF-8",
            Self::TooLarge => "event or member is too large",
            Self::End => "unexpected end of the document",
            Self::TrailingData => "unexpected data after the document",
        })
    }
}

/// A position in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Bytes from the start of the document.
    pub offset: u64,
    /// The line, from 1.
    pub line: u64,
    /// The byte within the line, from 1.
    pub column: u64,
}

/// An error of reading a document.
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonError {
    /// Reading failed.
    Io(io::Error),
    /// The input is not a valid document of the Trace Event Format.
    Malformed {
        /// The position of the defect.
        position: Position,
        /// The defect.
        problem: Problem,
    },
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => write!(f, "cannot read the document"),
            Self::Malformed { position: Position { line, column, .. }, problem } => {
                write!(f, "line {line}, column {column}: {problem}")
            }
        }
    }
}

impl std::error::Error for JsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Malformed { .. } => None,
        }
    }
}

impl From<io::Error> for JsonError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
