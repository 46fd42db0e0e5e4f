//! The critical path of an async operation or a flow: what it waited for, and
//! what ran meanwhile.
//!
//! # Operations
//!
//! The path is followed from the operation's end backwards. While one of its
//! polls ran (a duration with its id as the argument `task`, as traced futures
//! have it), that is on the path. Between two polls it waited: for the last to
//! be over of the operations whose `parent` it is, if one was over by the end of
//! the poll that the wait led to; else for the one that was polled longest in
//! that poll, as are those that it polls itself. That one's own path takes the
//! place of the wait. What is left is waiting for something that is not in the
//! archive: a timer, the network, a processor.
//!
//! # Flows
//!
//! The path goes from the flow's begin over its steps to its end. From each of
//! them on, the innermost duration around it runs; when that is over, the flow
//! waits for the next.
//!
//! An archive is read three times. Memory grows with the number of different
//! names, and with how many operations the one has made.

mod choose;
mod flow;
mod operation;

use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

pub use choose::{slowest, Choice, Chosen, Found};

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// When it began, in nanoseconds of the clock.
    pub from: u64,
    /// When it was over.
    pub to: u64,
    /// How many operations are around that which it is of.
    pub depth: usize,
    /// The category of what ran or waited.
    pub category: String,
    /// The name of what ran or waited.
    pub name: String,
    /// Where it ran; `None` if it waited.
    pub thread: Option<ThreadKoids>,
}

/// Returns the path of what was chosen, without gaps, in the order of time.
/// `open` opens the archive again from its start.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn path<R: Read, E: From<ReadError>>(
    chosen: &Chosen,
    mut open: impl FnMut() -> Result<Reader<R>, E>,
) -> Result<Vec<Segment>, E> {
    if chosen.is_flow {
        let points = flow::points(chosen, open()?)?;
        return Ok(flow::path(chosen, points, open()?)?);
    }
    let family = operation::family(chosen, open()?)?;
    Ok(operation::path(chosen, family, open()?)?)
}

#[cfg(test)]
mod tests;
