//! Scheduling records.

use std::collections::HashSet;

use trace_analyze::carried::ADDED;
use trace_format::{Argument, ContextSwitch, ThreadWakeup, Value, WriteError, Writer};

use super::line::Line;
use super::scheduler::{Scheduled, Task};

/// The maximum number of threads in [`Wakeups`].
const MAX_WOKEN: usize = 1 << 16;

/// The threads with a `sched_waking`, which the next `sched_wakeup` of the thread repeats.
#[derive(Debug, Default)]
pub(crate) struct Wakeups(HashSet<u64>);

impl Wakeups {
    /// Returns whether an event repeats the one before.
    pub(crate) fn is_repeated(&mut self, scheduled: &Scheduled<'_>) -> bool {
        if self.0.len() >= MAX_WOKEN {
            self.0.clear();
        }
        match scheduled {
            Scheduled::Switch { incoming, .. } => {
                self.0.remove(&incoming.thread);
                false
            }
            Scheduled::Waking { task, .. } => {
                self.0.insert(task.thread);
                false
            }
            Scheduled::Wakeup { task, .. } => self.0.remove(&task.thread),
        }
    }
}

/// Writes a scheduling record, which is marked as [`ADDED`] if a document carries it as well.
pub(crate) fn write(
    writer: &mut Writer<Vec<u8>>,
    ticks: u64,
    line: &Line<'_>,
    scheduled: Scheduled<'_>,
    is_added: bool,
) -> Result<(), WriteError> {
    match scheduled {
        Scheduled::Switch { outgoing, state, incoming } => {
            let arguments = [
                Argument::new("outgoing_weight", Value::Int32(outgoing.priority)),
                Argument::new("incoming_weight", Value::Int32(incoming.priority)),
                Argument::new(ADDED, Value::Bool(true)),
            ];
            let switch = ContextSwitch {
                ticks,
                cpu: line.cpu,
                outgoing_state: state,
                outgoing_thread: outgoing.thread,
                incoming_thread: incoming.thread,
                arguments: arguments.get(..2 + usize::from(is_added)).unwrap_or_default().into(),
            };
            writer.record(&switch.into())
        }
        Scheduled::Waking { task, cpu } => {
            wakeup(writer, ticks, (task, cpu), line.thread, is_added)
        }
        // The line's thread may be one that an interrupt stopped, not the waker.
        Scheduled::Wakeup { task, cpu } => wakeup(writer, ticks, (task, cpu), 0, is_added),
    }
}

fn wakeup(
    writer: &mut Writer<Vec<u8>>,
    ticks: u64,
    (task, cpu): (Task<'_>, u16),
    waker: u64,
    is_added: bool,
) -> Result<(), WriteError> {
    let mut arguments = vec![Argument::new("weight", Value::Int32(task.priority))];
    arguments.extend(is_added.then(|| Argument::new(ADDED, Value::Bool(true))));
    arguments.extend((waker != 0).then(|| Argument::new("waker", Value::Koid(waker))));
    let arguments = arguments[..].into();
    writer.record(&ThreadWakeup { ticks, cpu, thread: task.thread, arguments }.into())
}
