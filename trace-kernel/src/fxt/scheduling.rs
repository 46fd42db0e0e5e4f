//! Scheduling records.

use std::collections::HashSet;

use trace_analyze::scheduling::{InterruptKind, Waker};
use trace_format::{Argument, ContextSwitch, ThreadWakeup, Value, WriteError};

use super::list::List;
use super::sink::RecordSink;

use crate::event::{Context, Entry, Event, Task};

/// The maximum number of threads in [`Wakeups`].
const MAX_WOKEN: usize = 1 << 16;

/// The threads with a `sched_waking`, which the next `sched_wakeup` of the thread repeats.
#[derive(Debug, Default)]
pub struct Wakeups(HashSet<u64>);

impl Wakeups {
    /// Returns whether an event only repeats a wakeup.
    pub fn is_repeated(&mut self, event: &Event<'_>) -> bool {
        if self.0.len() >= MAX_WOKEN {
            self.0.clear();
        }
        match event {
            Event::Switch { incoming, .. } => {
                self.0.remove(&incoming.thread);
                false
            }
            Event::Waking { task, .. } => {
                self.0.insert(task.thread);
                false
            }
            Event::Wakeup { task, .. } => self.0.remove(&task.thread),
            _ => false,
        }
    }
}

/// Writes the scheduling record of a switch or a wakeup, with `mark` as its last argument but
/// those of the waker. Writes nothing for other events.
///
/// # Errors
///
/// Writing failed.
pub fn write_scheduling<S: RecordSink>(
    writer: &mut S,
    entry: &Entry<'_>,
    mark: Option<Argument<'_>>,
) -> Result<(), WriteError> {
    match entry.event {
        Event::Switch { outgoing, state, incoming } => {
            let weights = weight("outgoing_weight", outgoing).into_iter();
            let weights = weights.chain(weight("incoming_weight", incoming));
            let arguments: List<'_> = weights.chain(mark).collect();
            let switch = ContextSwitch {
                ticks: entry.ticks,
                cpu: entry.cpu,
                outgoing_state: state,
                outgoing_thread: outgoing.thread,
                incoming_thread: incoming.thread,
                arguments: arguments.as_slice().into(),
            };
            writer.record(&switch.into())
        }
        Event::Waking { task, cpu } => {
            wakeup(writer, entry.ticks, (task, cpu), &by(entry.context, entry.thread), mark)
        }
        // The entry's context may be an interrupt that the waker caused on another CPU.
        Event::Wakeup { task, cpu } => wakeup(writer, entry.ticks, (task, cpu), &[], mark),
        _ => Ok(()),
    }
}

fn weight<'a>(name: &'a str, task: Task<'_>) -> Option<Argument<'a>> {
    task.priority.map(|priority| Argument::new(name, Value::Int32(priority)))
}

/// Returns the arguments of what woke up a thread: the thread that a CPU ran, or an interrupt.
fn by(context: Context, thread: u64) -> Vec<Argument<'static>> {
    let thread = Some(thread).filter(|thread| *thread != 0);
    let interrupt = |kind| Some(Waker::Interrupt { kind, interrupted: thread });
    let waker = match context {
        Context::Thread => thread.map(Waker::Thread),
        Context::SoftInterrupt => interrupt(InterruptKind::Soft),
        Context::HardInterrupt => interrupt(InterruptKind::Hard),
    };
    waker.map(Waker::arguments).unwrap_or_default()
}

fn wakeup<S: RecordSink>(
    writer: &mut S,
    ticks: u64,
    (task, cpu): (Task<'_>, u16),
    by: &[Argument<'_>],
    mark: Option<Argument<'_>>,
) -> Result<(), WriteError> {
    let weight = weight("weight", task).into_iter();
    let arguments: List<'_> = weight.chain(mark).chain(by.iter().copied()).collect();
    let arguments = arguments.as_slice().into();
    writer.record(&ThreadWakeup { ticks, cpu, thread: task.thread, arguments }.into())
}
