//! Errors of format files.

use std::fmt;

/// A format file that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// The line, from 1; 0 if the file lacks one.
    pub line: usize,
    /// What is wrong with it.
    pub fault: FormatFault,
}

/// What is wrong with a format file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatFault {
    /// The line `name:` is missing.
    NoName,
    /// The line `ID:` is missing, or is not a number below 65536.
    NoId,
    /// A field lacks its name, its offset or its size, or these are not numbers.
    Field,
    /// A field of the page header is missing.
    NoPageField(&'static str),
    /// The page header's fields overlap, or its page is shorter than them or too large.
    PageLayout,
    /// The event header is not the one that this crate reads.
    EventHeader(&'static str),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        match self.fault {
            FormatFault::NoName => f.write_str("the event has no name"),
            FormatFault::NoId => f.write_str("the event has no id below 65536"),
            FormatFault::Field => f.write_str("malformed field"),
            FormatFault::NoPageField(name) => write!(f, "the page header has no field {name}"),
            FormatFault::PageLayout => f.write_str("the page header has an impossible layout"),
            FormatFault::EventHeader(item) => {
                write!(f, "the event header has an unsupported {item}")
            }
        }
    }
}

impl std::error::Error for FormatError {}
