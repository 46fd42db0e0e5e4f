//! System calls and interrupts: durations of a begin and an end.

use std::mem;

use foldhash::HashMap;
use trace_format::layout::{cut_str, ObjectType, ARTIFICIAL_KOID_BIT, MAX_STRING_BYTES};
use trace_format::{Argument, EventKind, KernelObject, ThreadKoids, Value, WriteError};

use super::call_names::CallNames;
use super::instants::{event, write_event};
use super::labels::Label;
use super::list::List;
use super::sink::{Number, NumbersDuration, RecordSink};

/// The process whose threads are the CPUs. Viewers use 32 bits of it, and no thread of Linux has an
/// id as large.
const CPUS: u64 = ARTIFICIAL_KOID_BIT | 1 << 30;

/// The most durations of a kind that are open at a time.
const MAX_OPEN: usize = 1 << 16;

/// The most names of system calls that are kept.
const MAX_NAMES: usize = 1 << 10;

/// The number at the exit of `rt_sigreturn`.
const NO_SYSCALL: i64 = -1;

/// Durations that have begun, by their kind.
#[derive(Debug, Default)]
pub(super) struct Durations {
    states: [State; Kind::ALL.len()],
    named_cpus: Vec<u16>,
}

/// The durations of a kind.
#[derive(Debug, Default)]
struct State {
    /// The last one of each thread. It is kept when it has ended, because another one follows.
    last: HashMap<u64, Open>,
    calls: Calls,
}

/// The names of system calls.
#[derive(Debug, Default)]
struct Calls {
    names: CallNames,
    /// By their numbers.
    known: HashMap<i64, Box<str>>,
}

/// What a thread or a CPU does once at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Syscall,
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
    /// Empty for a system call.
    name: String,
    arguments: [u64; ARGUMENTS],
}

/// The arguments of a system call.
pub(super) const ARGUMENTS: usize = 6;

const LABELS: [Label; ARGUMENTS] = [
    Label::Argument0,
    Label::Argument1,
    Label::Argument2,
    Label::Argument3,
    Label::Argument4,
    Label::Argument5,
];

impl Kind {
    const ALL: [Self; 3] = [Self::Syscall, Self::Irq, Self::Softirq];

    fn category(self) -> Label {
        match self {
            Self::Syscall => Label::Syscall,
            Self::Irq | Self::Softirq => Label::Irq,
        }
    }

    fn number(self) -> Label {
        match self {
            Self::Syscall => Label::Number,
            Self::Irq => Label::IrqNumber,
            Self::Softirq => Label::Vector,
        }
    }
}

impl Durations {
    fn state(&mut self, kind: Kind) -> &mut State {
        let [syscalls, irqs, softirqs] = &mut self.states;
        match kind {
            Kind::Syscall => syscalls,
            Kind::Irq => irqs,
            Kind::Softirq => softirqs,
        }
    }

    /// Names system calls.
    pub(super) fn name_calls(&mut self, names: CallNames) {
        self.state(Kind::Syscall).calls = Calls { names, ..Calls::default() };
    }

    /// Begins a duration. One that is open at the same place has lost its end, and is dropped.
    pub(super) fn begin(
        &mut self,
        start: u64,
        (place, kind): (ThreadKoids, Kind),
        (number, name): (i64, &str),
        arguments: [u64; ARGUMENTS],
    ) {
        let Some(open) = self.state(kind).place(place.thread) else { return };
        open.name.clear();
        open.name.push_str(name);
        (open.is_open, open.place, open.start) = (true, place, start);
        (open.number, open.arguments) = (number, arguments);
    }

    /// Ends a duration, and writes it if its begin is there. [`NO_SYSCALL`] ends any system call.
    pub(super) fn end<S: RecordSink>(
        &mut self,
        writer: &mut S,
        end: u64,
        (place, kind): (ThreadKoids, Kind),
        number: i64,
        result: Option<(Label, Value<'_>)>,
    ) -> Result<(), WriteError> {
        let State { last, calls } = self.state(kind);
        let Some(open) = last.get_mut(&place.thread) else { return Ok(()) };
        let is_any = kind == Kind::Syscall && number == NO_SYSCALL;
        let is_it = mem::take(&mut open.is_open) && (is_any || open.number == number);
        if !is_it {
            return Ok(());
        }
        let ended = EventKind::DurationComplete { end };
        open.write(writer, (place, kind), calls, ended, result)
    }

    /// Ends the system call in which a thread ends: it does not return.
    pub(super) fn exit<S: RecordSink>(
        &mut self,
        writer: &mut S,
        end: u64,
        thread: u64,
    ) -> Result<(), WriteError> {
        let State { last, calls } = self.state(Kind::Syscall);
        let open = last.remove(&thread).filter(|open| open.is_open);
        open.map_or(Ok(()), |open| {
            let place = (open.place, Kind::Syscall);
            open.write(writer, place, calls, EventKind::DurationComplete { end }, None)
        })
    }

    /// Drops the durations of a CPU, and of all threads: events are missing.
    pub(super) fn interrupt(&mut self, cpu: u16) {
        let cpu = cpu_koids(cpu).thread;
        self.state(Kind::Syscall).last.clear();
        for kind in [Kind::Irq, Kind::Softirq] {
            self.state(kind).last.remove(&cpu);
        }
    }

    /// Writes the begins of the durations that are open at the end.
    pub(super) fn finish<S: RecordSink>(&mut self, writer: &mut S) -> Result<(), WriteError> {
        let mut open = Vec::new();
        for kind in Kind::ALL {
            let last = mem::take(&mut self.state(kind).last).into_values();
            open.extend(last.filter(|open| open.is_open).map(|open| (kind, open)));
        }
        open.sort_by_key(|(_, open)| open.start);
        let calls = &mut self.state(Kind::Syscall).calls;
        for (kind, open) in &open {
            open.write(writer, (open.place, *kind), calls, EventKind::DurationBegin, None)?;
        }
        Ok(())
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

impl State {
    /// Returns the place of a thread's next duration, or `None` if too many are open.
    fn place(&mut self, thread: u64) -> Option<&mut Open> {
        if self.last.len() >= MAX_OPEN && !self.last.contains_key(&thread) {
            self.last.retain(|_, open| open.is_open);
            if self.last.len() >= MAX_OPEN {
                return None;
            }
        }
        Some(self.last.entry(thread).or_default())
    }
}

impl Calls {
    fn name(&mut self, number: i64) -> &str {
        let Self { names, known } = self;
        if known.len() >= MAX_NAMES && !known.contains_key(&number) {
            known.clear();
        }
        known.entry(number).or_insert_with(|| names.name(number).into())
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
        (place, kind): (ThreadKoids, Kind),
        calls: &mut Calls,
        event_kind: EventKind,
        result: Option<(Label, Value<'_>)>,
    ) -> Result<(), WriteError> {
        if let (Kind::Syscall, EventKind::DurationComplete { end }) = (kind, event_kind) {
            return self.write_call(writer, (place, end), calls.name(self.number), result);
        }
        let Some(category) = writer.category(kind.category()) else { return Ok(()) };
        let name = match kind {
            Kind::Syscall => calls.name(self.number),
            Kind::Irq | Kind::Softirq => cut_str(&self.name, MAX_STRING_BYTES),
        };
        let labels = (category, writer.text(name));
        let mut arguments = List::new();
        arguments.push(writer.label(kind.number()), Value::Int64(self.number));
        if kind == Kind::Syscall {
            for (label, value) in LABELS.into_iter().zip(self.arguments) {
                arguments.push(writer.label(label), Value::Uint64(value));
            }
        }
        if let Some((label, value)) = result {
            arguments.push(writer.label(label), value);
        }
        let arguments = arguments.as_slice();
        write_event(writer, event(self.start, place, labels, event_kind, arguments))
    }

    /// Writes a system call that has ended. `result` is a number.
    fn write_call<S: RecordSink>(
        &self,
        writer: &mut S,
        (thread, end): (ThreadKoids, u64),
        name: &str,
        result: Option<(Label, Value<'_>)>,
    ) -> Result<(), WriteError> {
        let [a, b, c, d, e, f] = self.arguments.map(Number::Unsigned);
        let [la, lb, lc, ld, le, lf] = LABELS;
        let (label, returned) = match result {
            Some((label, Value::Int64(number))) => (label, Some(Number::Signed(number))),
            _ => (Label::Result, None),
        };
        let arguments = [
            (Label::Number, Number::Signed(self.number)),
            (la, a),
            (lb, b),
            (lc, c),
            (ld, d),
            (le, e),
            (lf, f),
            (label, returned.unwrap_or(Number::Signed(0))),
        ];
        let count = arguments.len() - usize::from(returned.is_none());
        let arguments = arguments.get(..count).unwrap_or_default();
        let (start, category) = (self.start, Kind::Syscall.category());
        writer.numbers(&NumbersDuration { start, end, thread, category, name, arguments })
    }
}
