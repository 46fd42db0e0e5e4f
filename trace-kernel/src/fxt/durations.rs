//! Interrupts and deferred work: durations of a begin and an end.

use std::mem;

use foldhash::HashMap;
use trace_format::layout::{cut_str, ObjectType, ARTIFICIAL_KOID_BIT, MAX_STRING_BYTES};
use trace_format::{Argument, EventKind, KernelObject, ThreadKoids, Value, WriteError};

use super::instants::{event, write_event};
use super::labels::Label;
use super::list::List;
use super::sink::RecordSink;

/// The process whose threads are the CPUs. Viewers use 32 bits of it, and no thread of Linux has an
/// id as large.
const CPUS: u64 = ARTIFICIAL_KOID_BIT | 1 << 30;

/// Durations that have begun, by their kind.
#[derive(Debug, Default)]
pub(super) struct Durations {
    states: [State; Kind::ALL.len()],
    named_cpus: Vec<u16>,
}

/// The last duration of each CPU. It is kept when it has ended, because another one follows.
type State = HashMap<u64, Open>;

/// What a CPU does once at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Irq,
    Softirq,
}

/// A duration that has begun.
#[derive(Debug, Default)]
struct Open {
    /// Whether it has not ended.
    is_open: bool,
    place: ThreadKoids,
    start: u64,
    number: i64,
    name: String,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Irq, Self::Softirq];

    fn number(self) -> Label {
        match self {
            Self::Irq => Label::IrqNumber,
            Self::Softirq => Label::Vector,
        }
    }
}

impl Durations {
    fn state(&mut self, kind: Kind) -> &mut State {
        let [irqs, softirqs] = &mut self.states;
        match kind {
            Kind::Irq => irqs,
            Kind::Softirq => softirqs,
        }
    }

    /// Begins a duration. One that is open at the same place has lost its end, and is dropped.
    pub(super) fn begin(
        &mut self,
        start: u64,
        (place, kind): (ThreadKoids, Kind),
        (number, name): (i64, &str),
    ) {
        let open = self.state(kind).entry(place.thread).or_default();
        open.name.clear();
        open.name.push_str(name);
        (open.is_open, open.place, open.start, open.number) = (true, place, start, number);
    }

    /// Ends a duration, and writes it if its begin is there.
    pub(super) fn end<S: RecordSink>(
        &mut self,
        writer: &mut S,
        end: u64,
        (place, kind): (ThreadKoids, Kind),
        number: i64,
        result: Option<(Label, Value<'_>)>,
    ) -> Result<(), WriteError> {
        let Some(open) = self.state(kind).get_mut(&place.thread) else { return Ok(()) };
        match mem::take(&mut open.is_open) && open.number == number {
            true => open.write(writer, kind, EventKind::DurationComplete { end }, result),
            false => Ok(()),
        }
    }

    /// Drops the durations of a CPU: events are missing.
    pub(super) fn interrupt(&mut self, cpu: u16) {
        for kind in Kind::ALL {
            self.state(kind).remove(&cpu_koids(cpu).thread);
        }
    }

    /// Writes the begins of the durations that are open at the end.
    pub(super) fn finish<S: RecordSink>(&mut self, writer: &mut S) -> Result<(), WriteError> {
        let mut open = Vec::new();
        for kind in Kind::ALL {
            let last = mem::take(self.state(kind)).into_values();
            open.extend(last.filter(|open| open.is_open).map(|open| (kind, open)));
        }
        open.sort_by_key(|(_, open)| open.start);
        let begin = EventKind::DurationBegin;
        open.iter().try_for_each(|(kind, open)| open.write(writer, *kind, begin, None))
    }

    /// Returns the place of a CPU's interrupts, and names it the first time.
    pub(super) fn cpu<S: RecordSink>(
        &mut self,
        writer: &mut S,
        cpu: u16,
    ) -> Result<ThreadKoids, WriteError> {
        let koids = cpu_koids(cpu);
        if self.named_cpus.contains(&cpu) {
            return Ok(koids);
        }
        if self.named_cpus.is_empty() {
            name(writer, ObjectType::PROCESS, CPUS, "CPUs", &[])?;
        }
        self.named_cpus.push(cpu);
        let process = [Argument::new("process", Value::Koid(CPUS))];
        name(writer, ObjectType::THREAD, koids.thread, &format!("CPU {cpu}"), &process)?;
        Ok(koids)
    }
}

/// A CPU as a thread.
fn cpu_koids(cpu: u16) -> ThreadKoids {
    ThreadKoids::new(CPUS, CPUS + 1 + u64::from(cpu))
}

fn name<S: RecordSink>(
    writer: &mut S,
    object_type: ObjectType,
    koid: u64,
    name: &str,
    arguments: &[Argument<'_>],
) -> Result<(), WriteError> {
    let (name, arguments) = (name.into(), arguments.into());
    writer.record(&KernelObject { object_type, koid, name, arguments }.into())
}

impl Open {
    fn write<S: RecordSink>(
        &self,
        writer: &mut S,
        kind: Kind,
        event_kind: EventKind,
        result: Option<(Label, Value<'_>)>,
    ) -> Result<(), WriteError> {
        let Some(category) = writer.category(Label::Irq) else { return Ok(()) };
        let labels = (category, writer.text(cut_str(&self.name, MAX_STRING_BYTES)));
        let mut arguments = List::new();
        arguments.push(writer.label(kind.number()), Value::Int64(self.number));
        if let Some((label, value)) = result {
            arguments.push(writer.label(label), value);
        }
        let arguments = arguments.as_slice();
        write_event(writer, event(self.start, self.place, labels, event_kind, arguments))
    }
}
