//! Errors of documents.

use std::io;

/// A defect of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A value is missing: an object, array, string, number, `true`, `false` or `null`. `NaN` and
    /// `Infinity` are not JSON.
    #[error("expected a value")]
    Value,
    /// The key of an object, in quotes, is missing.
    #[error("expected a key in quotes")]
    Key,
    /// The colon after a key is missing.
    #[error("expected a colon")]
    Colon,
    /// A comma or the end of an array is missing.
    #[error("expected a comma or `]`")]
    CommaOrBracket,
    /// A comma or the end of an object is missing.
    #[error("expected a comma or `}}`")]
    CommaOrBrace,
    /// A number is not valid JSON.
    #[error("invalid number")]
    Number,
    /// A string has an escape that JSON does not have.
    #[error("invalid escape")]
    Escape,
    /// A string has a control character, such as a line feed, without an escape.
    #[error("control character without an escape")]
    ControlCharacter,
    /// Values are nested more than 1000 deep.
    #[error("values are nested more than 1000 deep")]
    TooDeep,
    /// The document does not start with `[` or `{`.
    #[error("expected `{{` or `[`")]
    Document,
    /// `traceEvents` is missing, or is not an array.
    #[error("expected the array `traceEvents`")]
    NoEvents,
    /// An event is not an object.
    #[error("event is not an object")]
    Event,
    /// The text is not UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
    /// An event or member is longer than the limit.
    #[error("event or member is too large")]
    TooLarge,
    /// The document is incomplete.
    #[error("unexpected end of the document")]
    End,
    /// Data follows the end of the document.
    #[error("unexpected data after the document")]
    TrailingData,
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
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// Reading failed.
    #[error("cannot read the document")]
    Io(#[from] io::Error),
    /// The input is not a valid document of the Trace Event Format.
    #[error("line {}, column {}: {problem}", position.line, position.column)]
    Malformed {
        /// The position of the defect.
        position: Position,
        /// The defect.
        problem: Problem,
    },
}
