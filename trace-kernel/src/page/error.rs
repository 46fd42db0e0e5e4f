//! Errors of pages.

use std::fmt;

/// A page that is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageError {
    /// Where, in bytes from the start of the page.
    pub offset: usize,
    /// What is wrong there.
    pub fault: PageFault,
}

/// What is wrong with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageFault {
    /// The page ends within its header.
    Header,
    /// The page has fewer bytes than it has according to its header.
    Commit {
        /// The bytes of events that the header counts.
        committed: usize,
        /// The bytes that there are.
        available: usize,
    },
    /// An event goes beyond the end of the events.
    Event {
        /// The bytes that the event needs.
        needed: usize,
        /// The bytes that there are.
        available: usize,
    },
    /// An event counts fewer bytes than its length has.
    Length(u32),
    /// An event is too short for an id.
    NoId,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, fault } = self;
        match fault {
            PageFault::Header => write!(f, "the page ends within its header, at {offset}"),
            PageFault::Commit { committed, available } => {
                write!(f, "the page has {available} of {committed} bytes of events")
            }
            PageFault::Event { needed, available } => {
                write!(f, "the event at {offset} needs {needed} bytes, of {available}")
            }
            PageFault::Length(length) => {
                write!(f, "the event at {offset} has an impossible length of {length} bytes")
            }
            PageFault::NoId => write!(f, "the event at {offset} is too short for an id"),
        }
    }
}

impl std::error::Error for PageError {}
