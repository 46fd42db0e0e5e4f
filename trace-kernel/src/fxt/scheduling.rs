//! Scheduling records.

use trace_analyze::scheduling::InterruptKind;
use trace_format::{Argument, ContextSwitch, ThreadWakeup, Value, WriteError};

use super::frequent::{Switch, Wakeup};
use super::labels::Label;
use super::list::List;
use super::sink::RecordSink;

use crate::by_thread::ByThread;
use crate::event::{Context, Entry, Event, Task};

/// The maximum number of threads in [`Wakeups`].
const MAX_WOKEN: usize = 1 << 16;

/// The threads with a `sched_waking`, which the next `sched_wakeup` of the thread repeats.
#[derive(Debug, Default)]
pub struct Wakeups(ByThread<bool>);

impl Wakeups {
    /// Returns whether an event only repeats a wakeup.
    pub fn is_repeated(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Switch { incoming, .. } => self.run(incoming.thread),
            Event::Waking { task, .. } => self.wake(task.thread),
            Event::Wakeup { task, .. } => return self.take(task.thread),
            _ => {}
        }
        false
    }

    /// Notes that a thread is woken.
    #[inline]
    pub(super) fn wake(&mut self, thread: u64) {
        if self.0.len() >= MAX_WOKEN {
            self.0.clear();
        }
        *self.0.entry(thread) = true;
    }

    /// Notes that a thread runs.
    #[inline]
    pub(super) fn run(&mut self, thread: u64) {
        self.take(thread);
    }

    fn take(&mut self, thread: u64) -> bool {
        self.0.get_mut(thread).is_some_and(std::mem::take)
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
    let Entry { ticks, cpu, thread, context, event } = *entry;
    let known = |task: Task<'_>| (task.thread, task.priority);
    match event {
        Event::Switch { outgoing, state, incoming } => {
            let (outgoing, incoming) = (known(outgoing), known(incoming));
            let switch = Switch { ticks, cpu, outgoing, state, incoming };
            match mark {
                None => writer.switch(&switch),
                mark => write_switch(writer, &switch, mark),
            }
        }
        Event::Waking { task, cpu } | Event::Wakeup { task, cpu } => {
            // The entry's context may be an interrupt that the waker caused on another CPU.
            let is_waking = matches!(event, Event::Waking { .. });
            let by = is_waking.then_some((context, thread));
            let wakeup = Wakeup { ticks, cpu, thread: known(task), by };
            match mark {
                None => writer.wakeup(&wakeup),
                mark => write_wakeup(writer, &wakeup, mark),
            }
        }
        _ => Ok(()),
    }
}

/// Writes a switch as any other record, like [`write_scheduling`].
///
/// # Errors
///
/// Those of [`RecordSink::record`].
pub fn write_switch<S: RecordSink + ?Sized>(
    writer: &mut S,
    switch: &Switch,
    mark: Option<Argument<'_>>,
) -> Result<(), WriteError> {
    let Switch { ticks, cpu, outgoing, state, incoming } = *switch;
    let mut arguments = List::new();
    weight(writer, &mut arguments, Label::OutgoingWeight, outgoing.1);
    weight(writer, &mut arguments, Label::IncomingWeight, incoming.1);
    if let Some(Argument { name, value }) = mark {
        arguments.push(name, value);
    }
    let switch = ContextSwitch {
        ticks,
        cpu,
        outgoing_state: state,
        outgoing_thread: outgoing.0,
        incoming_thread: incoming.0,
        arguments: arguments.as_slice().into(),
    };
    writer.record(&switch.into())
}

/// Writes a wake-up as any other record, like [`write_scheduling`].
///
/// # Errors
///
/// Those of [`RecordSink::record`].
pub fn write_wakeup<S: RecordSink + ?Sized>(
    writer: &mut S,
    wakeup: &Wakeup,
    mark: Option<Argument<'_>>,
) -> Result<(), WriteError> {
    let Wakeup { ticks, cpu, thread: (thread, priority), by } = *wakeup;
    let mut arguments = List::new();
    weight(writer, &mut arguments, Label::Weight, priority);
    if let Some(Argument { name, value }) = mark {
        arguments.push(name, value);
    }
    if let Some(by) = by {
        waker(writer, &mut arguments, by);
    }
    let arguments = arguments.as_slice().into();
    writer.record(&ThreadWakeup { ticks, cpu, thread, arguments }.into())
}

fn weight<S: RecordSink + ?Sized>(
    writer: &mut S,
    to: &mut List<'_>,
    label: Label,
    priority: Option<i32>,
) {
    if let Some(priority) = priority {
        to.push(writer.label(label), Value::Int32(priority));
    }
}

/// Adds what woke up a thread: the thread that a CPU ran, or an interrupt. These are the arguments
/// of [`Waker`](trace_analyze::scheduling::Waker).
fn waker<S: RecordSink + ?Sized>(
    writer: &mut S,
    to: &mut List<'_>,
    (context, thread): (Context, u64),
) {
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
