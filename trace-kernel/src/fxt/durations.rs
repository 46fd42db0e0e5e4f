//! System calls and interrupts: durations of a begin and an end.

use std::collections::HashMap;

use trace_format::layout::{ObjectType, ARTIFICIAL_KOID_BIT};
use trace_format::{Argument, EventKind, KernelObject, ThreadKoids, Value, WriteError};

use super::instants::{event, write_event};
use super::list::List;
use super::sink::RecordSink;

/// The process whose threads are the CPUs. Viewers use 32 bits of it, and no thread of Linux has an
/// id as large.
const CPUS: u64 = ARTIFICIAL_KOID_BIT | 1 << 30;

/// The most durations that are open at a time.
const MAX_OPEN: usize = 1 << 16;

/// The number at the exit of `rt_sigreturn`.
const NO_SYSCALL: i64 = -1;

/// Durations that have begun, by their thread.
#[derive(Debug, Default)]
pub(super) struct Durations {
    open: HashMap<(u64, Kind), Open>,
    named_cpus: Vec<u16>,
}

/// What a thread or a CPU does once at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Syscall,
    Irq,
    Softirq,
}

/// A duration that has begun.
#[derive(Debug)]
struct Open {
    place: ThreadKoids,
    start: u64,
    number: i64,
    /// `None` for the number of a system call.
    name: Option<String>,
    arguments: [u64; ARGUMENTS],
}

/// The arguments of a system call.
pub(super) const ARGUMENTS: usize = 6;

impl Kind {
    fn category(self) -> &'static str {
        match self {
            Self::Syscall => "kernel:syscall",
            Self::Irq | Self::Softirq => "kernel:irq",
        }
    }

    fn number(self) -> &'static str {
        match self {
            Self::Syscall => "number",
            Self::Irq => "irq",
            Self::Softirq => "vector",
        }
    }
}

impl Durations {
    /// Begins a duration. One that is open at the same place has lost its end, and is dropped.
    pub(super) fn begin(
        &mut self,
        start: u64,
        (place, kind): (ThreadKoids, Kind),
        (number, name): (i64, Option<&str>),
        arguments: [u64; ARGUMENTS],
    ) {
        let key = (place.thread, kind);
        if self.open.len() < MAX_OPEN || self.open.contains_key(&key) {
            let name = name.map(str::to_owned);
            let open = Open { place, start, number, name, arguments };
            self.open.insert(key, open);
        }
    }

    /// Ends a duration, and writes it if its begin is there. [`NO_SYSCALL`] ends any system call.
    pub(super) fn end<S: RecordSink>(
        &mut self,
        writer: &mut S,
        end: u64,
        (place, kind): (ThreadKoids, Kind),
        number: i64,
        result: Option<Argument<'_>>,
    ) -> Result<(), WriteError> {
        let open = self.open.remove(&(place.thread, kind));
        let is_any = kind == Kind::Syscall && number == NO_SYSCALL;
        open.filter(|open| is_any || open.number == number).map_or(Ok(()), |open| {
            write(writer, (place, kind), &open, EventKind::DurationComplete { end }, result)
        })
    }

    /// Ends the system call in which a thread ends: it does not return.
    pub(super) fn exit<S: RecordSink>(
        &mut self,
        writer: &mut S,
        end: u64,
        thread: u64,
    ) -> Result<(), WriteError> {
        let open = self.open.remove(&(thread, Kind::Syscall));
        open.map_or(Ok(()), |open| {
            let place = (open.place, Kind::Syscall);
            write(writer, place, &open, EventKind::DurationComplete { end }, None)
        })
    }

    /// Drops the durations of a CPU, and of all threads: events are missing.
    pub(super) fn interrupt(&mut self, cpu: u16) {
        let cpu = cpu_koids(cpu).thread;
        self.open.retain(|(thread, kind), _| *kind != Kind::Syscall && *thread != cpu);
    }

    /// Writes the begins of the durations that are open at the end.
    pub(super) fn finish<S: RecordSink>(&mut self, writer: &mut S) -> Result<(), WriteError> {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by_key(|(_, open)| open.start);
        for ((_, kind), open) in &open {
            write(writer, (open.place, *kind), open, EventKind::DurationBegin, None)?;
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

fn write<S: RecordSink>(
    writer: &mut S,
    (place, kind): (ThreadKoids, Kind),
    open: &Open,
    event_kind: EventKind,
    result: Option<Argument<'_>>,
) -> Result<(), WriteError> {
    const NAMES: [&str; ARGUMENTS] = ["arg0", "arg1", "arg2", "arg3", "arg4", "arg5"];
    let number = Argument::new(kind.number(), Value::Int64(open.number));
    let values = NAMES.into_iter().zip(&open.arguments).filter(|_| kind == Kind::Syscall);
    let values = values.map(|(name, value)| Argument::new(name, Value::Uint64(*value)));
    let arguments: List<'_> = [number].into_iter().chain(values).chain(result).collect();
    let call = format!("syscall {}", open.number);
    let labels = (kind.category(), open.name.as_deref().unwrap_or(&call));
    write_event(writer, event(open.start, place, labels, event_kind, arguments.as_slice()))
}
