//! The critical path of an async operation or a flow: the durations that ran for it, and its waits.
//!
//! # Operations
//!
//! The path starts at the operation's end and goes back to its begin. The operation's polls are on
//! the path:
//!
//! - durations with its id as the argument `task`, of traced futures and of spans of `tracing`,
//! - durations with a mark, the first polls of such spans ([`spans`](crate::spans)),
//! - if there are none, the innermost durations around its begin, its instants and its end.
//!
//! Its children are the operations with its id as the argument `parent`, and those without this
//! argument that begin during one of its polls, on the same thread. Between two polls the operation
//! waited
//!
//! 1. for the last child that ended, if one ended by the end of the second poll,
//! 2. else for the child that was polled longest during the second poll,
//! 3. else for the last message that was sent during the wait and received in the second poll: a
//!    step of a flow.
//!
//! The path of the child, or the duration around the sending, replaces the wait. The other waits
//! are for events that are not in the archive: a timer, the network, a processor.
//!
//! # Scheduling records
//!
//! If the archive has scheduling records, the times of a poll at which its thread was not on a
//! processor are separate, and so is the time from the wake-up of a thread to its turn.
//!
//! # Flows
//!
//! The path goes from the flow's begin over its steps to its end. At each of these points, the
//! innermost duration around the point runs. After its end, the flow waits for the next point.
//!
//! # Members
//!
//! A path has a [`Member`] for each operation that it follows, even if the operation's children
//! take all of its time. [`Path::read_arguments`] adds the arguments.
//!
//! # Durations
//!
//! [`Path::durations`] divides the running parts by the self time of the durations in them.
//!
//! An archive is read up to six times, and once more for each generation of children without the
//! argument `parent`, up to 64. Memory grows with the number of names, of operations, and of steps
//! of flows up to a million.

mod choose;
mod durations;
mod flow;
mod member;
mod operation;
mod scheduled;

use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

pub use choose::{slowest, Choice, Chosen, Found};
pub use durations::{Share, Shares};
pub use member::Member;
use scheduled::Scheduled;

/// The critical path of an operation or a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// The parts, without gaps and in the order of time.
    pub segments: Vec<Segment>,
    /// The chosen operation or flow, then the other operations in the order of time, an outer one
    /// before those in it.
    pub members: Vec<Member>,
}

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
    /// The id of the operation, or of the flow on its own path. `None` for a duration or a message.
    pub id: Option<u64>,
    /// The thread that ran, or `None` for a wait.
    pub thread: Option<ThreadKoids>,
    /// Whether a thread waited for a processor, if the archive has scheduling records.
    pub is_ready: bool,
}

impl Segment {
    /// Adds a segment, unless it has no length.
    fn push(
        segments: &mut Vec<Self>,
        (from, to): (u64, u64),
        depth: usize,
        (category, name): (&str, &str),
        id: Option<u64>,
        thread: Option<ThreadKoids>,
    ) {
        if from < to {
            let (category, name) = (category.to_owned(), name.to_owned());
            segments.push(Self { from, to, depth, category, name, id, thread, is_ready: false });
        }
    }
}

impl Path {
    /// Creates a path with the operations that it follows.
    fn new(chosen: &Chosen, segments: Vec<Segment>, operations: Vec<Member>) -> Self {
        let mut members = vec![Member::new(&chosen.category, &chosen.name, chosen.id, 0)];
        members.extend(operations.into_iter().filter(|member| member.id != chosen.id));
        Self { segments, members }
    }
}

/// Returns the path of an operation or a flow. Its members have no arguments. `open` opens the
/// archive again from its start.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn path<R: Read, E: From<ReadError>>(
    chosen: &Chosen,
    mut open: impl FnMut() -> Result<Reader<R>, E>,
) -> Result<Path, E> {
    let path = match chosen.is_flow {
        true => {
            let points = flow::points(chosen, open()?)?;
            Path::new(chosen, flow::path(chosen, points, open()?)?, Vec::new())
        }
        false => operation::path(chosen, &mut open)?,
    };
    let segments = Scheduled::read(&path.segments, open()?)?.split(path.segments);
    Ok(Path { segments, ..path })
}

#[cfg(test)]
mod tests;
