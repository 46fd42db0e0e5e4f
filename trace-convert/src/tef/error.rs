//! What is wrong with a document.

use std::{fmt, io};

/// What is wrong at some place of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A value was expected: an object, array, string, number, `true`, `false`
    /// or `null`. `NaN` and `Infinity` are none.
    Value,
    /// The key of an object was expected, in quotes.
    Key,
    /// A colon was expected behind a key.
    Colon,
    /// A comma or the end of an array was expected.
    CommaOrBracket,
    /// A comma or the end of an object was expected.
    CommaOrBrace,
    /// A number is not written as JSON has it.
    Number,
    /// A backslash in a string is not followed by what JSON has there.
    Escape,
    /// A string has a control character, such as a line feed, as it is.
    ControlCharacter,
    /// Values are nested more than 1000 deep.
    TooDeep,
    /// A document starts with `[` or `{`.
    Document,
    /// `traceEvents` is no array.
    NoEvents,
    /// An event is no object.
    Event,
    /// The text is not UTF-8.
    Utf8,
    /// An event, or a member beside the events, is longer than the limit.
    TooLarge,
    /// The document ends too early.
    End,
    /// Something follows the document's end.
    Behind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "expected a value",
            Self::Key => "expected a key in quotes",
            Self::Colon => "expected a colon",
            Self::CommaOrBracket => "expected a comma or `]`",
            Self::CommaOrBrace => "expected a comma or `}`",
            Self::Number => "expected a number as JSON has it",
            Self::Escape => "expected one of the escapes that JSON has",
            Self::ControlCharacter => "expected a control character to be escaped",
            Self::TooDeep => "expected at most 1000 values in each other",
            Self::Document => "expected `{` or `[`",
            Self::NoEvents => "expected the array `traceEvents`",
            Self::Event => "expected an event, an object",
            Self::Utf8 => "expected UTF-8",
            Self::TooLarge => "an event or member is too large",
            Self::End => "the document ends too early",
            Self::Behind => "expected nothing behind the document",
        })
    }
}

/// Where in a document something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Bytes from the start of the document.
    pub offset: u64,
    /// The line, from 1 on.
    pub line: u64,
    /// The byte in its line, from 1 on.
    pub column: u64,
}

/// Why a document could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonError {
    /// Reading failed.
    Io(io::Error),
    /// This is no document of the Trace Event Format.
    Wrong {
        /// Where.
        place: Place,
        /// What is wrong there.
        problem: Problem,
    },
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => write!(f, "cannot read the document"),
            Self::Wrong { place, problem } => {
                write!(f, "line {}, column {}: {problem}", place.line, place.column)
            }
        }
    }
}

impl std::error::Error for JsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Wrong { .. } => None,
        }
    }
}

impl From<io::Error> for JsonError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
