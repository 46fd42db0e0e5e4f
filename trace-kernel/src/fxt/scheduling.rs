//! Scheduling records.

use foldhash::HashSet;
use trace_analyze::scheduling::InterruptKind;
use trace_format::{Argument, ContextSwitch, ThreadWakeup, Value, WriteError};

use super::labels::Label;
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
            let mut arguments = List::new();
            weight(writer, &mut arguments, (Label::OutgoingWeight, outgoing));
            weight(writer, &mut arguments, (Label::IncomingWeight, incoming));
            if let Some(Argument { name, value }) = mark {
                arguments.push(name, value);
            }
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
            wakeup(writer, entry.ticks, (task, cpu), Some((entry.context, entry.thread)), mark)
        }
        // The entry's context may be an interrupt that the waker caused on another CPU.
        Event::Wakeup { task, cpu } => wakeup(writer, entry.ticks, (task, cpu), None, mark),
        _ => Ok(()),
    }
}

fn weight<S: RecordSink>(writer: &mut S, to: &mut List<'_>, (label, task): (Label, Task<'_>)) {
    if let Some(priority) = task.priority {
        to.push(writer.label(label), Value::Int32(priority));
    }
}

/// Adds what woke up a thread: the thread that a CPU ran, or an interrupt. These are the arguments
/// of [`Waker`](trace_analyze::scheduling::Waker).
fn waker<S: RecordSink>(writer: &mut S, to: &mut List<'_>, (context, thread): (Context, u64)) {
    let kind = match context {
        Context::Thread => None,
        Context::SoftInterrupt => Some(InterruptKind::Soft),
        Context::HardInterrupt => Some(InterruptKind::Hard),
    };
    if let Some(kind) = kind {
        to.push(writer.label(Label::Interrupt), Value::String(kind.as_str().into()));
    }
    let label = if kind.is_some() { Label::Interrupted } else { Label::Waker };
    if thread != 0 {
        to.push(writer.label(label), Value::Koid(thread));
    }
}

fn wakeup<S: RecordSink>(
    writer: &mut S,
    ticks: u64,
    (task, cpu): (Task<'_>, u16),
    by: Option<(Context, u64)>,
    mark: Option<Argument<'_>>,
) -> Result<(), WriteError> {
    let mut arguments = List::new();
    weight(writer, &mut arguments, (Label::Weight, task));
    if let Some(Argument { name, value }) = mark {
        arguments.push(name, value);
    }
    if let Some(by) = by {
        waker(writer, &mut arguments, by);
    }
    let arguments = arguments.as_slice().into();
    writer.record(&ThreadWakeup { ticks, cpu, thread: task.thread, arguments }.into())
}

#[cfg(test)]
mod tests {
    use trace_analyze::scheduling::Waker;
    use trace_format::Writer;

    use super::*;

    #[test]
    fn the_waker_is_in_the_arguments_of_the_analysis() {
        let cases = [
            (Context::Thread, 7, Some(Waker::Thread(7))),
            (Context::Thread, 0, None),
            (
                Context::SoftInterrupt,
                7,
                Some(Waker::Interrupt { kind: InterruptKind::Soft, interrupted: Some(7) }),
            ),
            (
                Context::HardInterrupt,
                0,
                Some(Waker::Interrupt { kind: InterruptKind::Hard, interrupted: None }),
            ),
        ];
        for (context, thread, expected) in cases {
            let (mut writer, mut list) = (Writer::new(Vec::new()).unwrap(), List::new());
            waker(&mut writer, &mut list, (context, thread));
            assert_eq!(list.as_slice(), expected.map(Waker::arguments).unwrap_or_default());
        }
    }
}
