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
//! The path of the child, or the duration around the sending, replaces the wait. What remains has a
//! reason ([`Wait`]): the operation has not started, its child has ended, a message is on its way,
//! or nothing more runs for it. Otherwise the reason is unknown: a timer, the network, a lock, or
//! another event that is not in the archive.
//!
//! # Scheduling records
//!
//! If the archive has scheduling records, the times of a poll at which its thread was not on a
//! processor are separate, with the thread that preempted it or woke it up. An unknown wait before
//! a poll ends with the last wake-up of the poll's thread, if that was blocked meanwhile. After it,
//! the thread waits for a processor, and then runs other code until the poll. If that takes long,
//! the wake-up can have been for the other code. Without a wake-up, the same is shown from the time
//! at which the thread was last blocked.
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
mod wait;

use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

pub use choose::{slowest, Choice, Chosen, Found, SelectName};
pub use durations::{Share, Shares};
pub use member::Member;
use scheduled::Scheduled;
pub use wait::Wait;

use crate::schedule::history::History;

/// The critical path of an operation or a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// The parts, without gaps and in the order of time.
    pub segments: Vec<Segment>,
    /// The chosen operation or flow, then the other operations in the order of time, an outer one
    /// before those in it.
    pub members: Vec<Member>,
    /// The scheduling records of the archive.
    pub scheduling: Scheduling,
}

/// The scheduling records of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheduling {
    /// There are none.
    #[default]
    None,
    /// There are switches, but no wake-ups.
    Switches,
    /// There are switches and wake-ups.
    Complete,
    /// There are more than 8 Mi of them, and none is used.
    TooLong,
}

impl Scheduling {
    fn of(history: &History) -> Self {
        match history {
            history if !history.has_records => Self::None,
            history if history.is_too_long => Self::TooLong,
            history if !history.has_wakeups => Self::Switches,
            _ => Self::Complete,
        }
    }
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
    /// The thread that ran or could not continue, or `None` for a wait of the operation.
    pub thread: Option<ThreadKoids>,
    /// Why nothing ran, or `None` if the thread ran.
    pub wait: Option<Wait>,
}

/// A part of a path before scheduling records are read.
#[derive(Debug)]
enum Part {
    Runs(ThreadKoids),
    Waits(Wait),
}

impl Segment {
    /// Adds a segment, unless it has no length.
    fn push(
        segments: &mut Vec<Self>,
        (from, to): (u64, u64),
        depth: usize,
        (category, name): (&str, &str),
        id: Option<u64>,
        part: Part,
    ) {
        if from < to {
            let (category, name) = (category.to_owned(), name.to_owned());
            let (thread, wait) = match part {
                Part::Runs(thread) => (Some(thread), None),
                Part::Waits(wait) => (None, Some(wait)),
            };
            segments.push(Self { from, to, depth, category, name, id, thread, wait });
        }
    }
}

impl Path {
    /// Creates a path with the operations that it follows.
    fn new(chosen: &Chosen, segments: Vec<Segment>, operations: Vec<Member>) -> Self {
        let mut members = vec![Member::new(&chosen.category, &chosen.name, chosen.id, 0)];
        members.extend(operations.into_iter().filter(|member| member.id != chosen.id));
        Self { segments, members, scheduling: Scheduling::default() }
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
    let scheduled = Scheduled::read(&path.segments, open()?)?;
    let scheduling = Scheduling::of(&scheduled.history);
    Ok(Path { segments: scheduled.split(path.segments), scheduling, ..path })
}

#[cfg(test)]
mod tests;
