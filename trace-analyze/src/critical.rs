//! The critical path of an async operation or a flow: the durations that ran for it, and its waits.
//!
//! # Operations
//!
//! The path starts at the operation's end and goes back to its begin. The operation's polls are on
//! the path: durations with its id as the argument `task`, as traced futures have it. Between two
//! polls the operation waited for one of its children, the operations with its id as the argument
//! `parent`:
//!
//! 1. for the last child that ended, if one ended by the end of the second poll,
//! 2. else for the child that was polled longest during the second poll.
//!
//! The child's path replaces the wait. The other waits are for events that are not in the archive:
//! a timer, the network, a processor.
//!
//! # Flows
//!
//! The path goes from the flow's begin over its steps to its end. At each of these points, the
//! innermost duration around the point runs. After its end, the flow waits for the next point.
//!
//! An archive is read three times. Memory grows with the number of names, and with the number of
//! operations that the chosen one started.

mod choose;
mod flow;
mod operation;

use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

pub use choose::{slowest, Choice, Chosen, Found};

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The time of its begin, in nanoseconds.
    pub from: u64,
    /// The time of its end.
    pub to: u64,
    /// The number of operations around its own one.
    pub depth: usize,
    /// The category of the duration or operation.
    pub category: String,
    /// The name of the duration or operation.
    pub name: String,
    /// The thread that ran, or `None` for a wait.
    pub thread: Option<ThreadKoids>,
}

impl Segment {
    /// Adds a segment, unless it has no length.
    fn push(
        segments: &mut Vec<Self>,
        (from, to): (u64, u64),
        depth: usize,
        (category, name): (&str, &str),
        thread: Option<ThreadKoids>,
    ) {
        if from < to {
            let (category, name) = (category.to_owned(), name.to_owned());
            segments.push(Self { from, to, depth, category, name, thread });
        }
    }
}

/// Returns the path of an operation or a flow, without gaps and in the order of time. `open` opens
/// the archive again from its start.
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
