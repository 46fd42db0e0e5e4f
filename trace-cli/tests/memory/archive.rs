//! Archives of any length.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use trace_format::layout::{InstantScope, ObjectType, ThreadState};
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, KernelObject, LargeBlob, LargeBlobEvent,
    Log, Thread, ThreadKoids, Value, WriteError, Writer,
};

/// The approximate size of a round in bytes.
const ROUND_BYTES: u64 = 1540;

const PROCESS: u64 = 4711;

/// Writes an archive of about `bytes`, and returns how many events it has.
pub(crate) fn write(path: &Path, bytes: u64) -> Result<u64, WriteError> {
    let output = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut writer = Writer::new(output)?;
    writer.provider(1, "app")?;
    writer.initialization(1_000_000_000)?;
    let (object_type, name) = (ObjectType::PROCESS, "app".into());
    let arguments = Arguments::NONE;
    writer.record(&KernelObject { object_type, koid: PROCESS, name, arguments }.into())?;
    let mut rounds = Rounds { writer, ticks: 1_000, events: 0 };
    for number in 0..bytes / ROUND_BYTES {
        rounds.write(number)?;
    }
    rounds.writer.flush()?;
    Ok(rounds.events)
}

/// Writes an archive of operations, each with a name of its own.
pub(crate) fn write_names(path: &Path, number: u64) -> Result<(), WriteError> {
    let output = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut writer = Writer::new(output)?;
    writer.provider(1, "app")?;
    for id in 0..number {
        let name = format!("operation {id}");
        for kind in [EventKind::AsyncBegin { id }, EventKind::AsyncEnd { id }] {
            // The first one is the longest.
            let is_last = id == 0 && matches!(kind, EventKind::AsyncEnd { .. });
            let ticks = if is_last { 1 << 40 } else { 1000 * id };
            let thread = Thread::Inline(ThreadKoids::new(PROCESS, PROCESS));
            let (category, name, arguments) = ("app".into(), (&*name).into(), Arguments::NONE);
            writer.record(&Event { ticks, thread, category, name, kind, arguments }.into())?;
        }
    }
    writer.flush()
}

/// Writes an archive of durations: one of `handler`, one of each other name, many of `handler`.
pub(crate) fn write_handler(path: &Path, others: u64) -> Result<(), WriteError> {
    let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
    writer.provider(1, "app")?;
    let handler = |number| (number, "handler".to_owned());
    let others = (1..=others).map(|number| (number, format!("once {number}")));
    for (number, name) in [handler(0)].into_iter().chain(others).chain((1..1000).map(handler)) {
        let kind = EventKind::DurationComplete { end: 10_000 * number + 1 + number };
        let thread = Thread::Inline(ThreadKoids::new(PROCESS, PROCESS));
        let (category, name, arguments) = ("app".into(), (&*name).into(), Arguments::NONE);
        let ticks = 10_000 * number;
        writer.record(&Event { ticks, thread, category, name, kind, arguments }.into())?;
    }
    writer.flush()
}

/// Writes an archive of providers without a record, and one with.
pub(crate) fn write_providers(path: &Path, number: u32) -> Result<(), WriteError> {
    let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
    for id in 1..=number {
        writer.provider(id, "")?;
        writer.initialization(1_000_000_000)?;
    }
    let mut rounds = Rounds { writer, ticks: 1_000, events: 0 };
    rounds.write(0)?;
    rounds.writer.flush()
}

/// Writes the first parts of blobs, each of a blob of its own.
pub(crate) fn write_parts(path: &Path, number: u64) -> Result<(), WriteError> {
    let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
    writer.provider(1, "app")?;
    let arguments = [("part", 1), ("parts", 2)];
    let arguments = arguments.map(|(name, value)| Argument::new(name, Value::Uint32(value)));
    let thread = Thread::Inline(ThreadKoids::new(PROCESS, PROCESS));
    for ticks in 0..number {
        let event = Some(LargeBlobEvent { ticks, thread, arguments: arguments[..].into() });
        let (category, name) = ("app".into(), "part".into());
        writer.record(&LargeBlob { category, name, event, payload: b"" }.into())?;
    }
    writer.flush()
}

struct Rounds {
    writer: Writer<BufWriter<File>>,
    ticks: u64,
    events: u64,
}

impl Rounds {
    /// Writes each kind of record, on varying threads.
    fn write(&mut self, number: u64) -> Result<(), WriteError> {
        use EventKind::*;
        let thread = ThreadKoids::new(PROCESS, PROCESS + number / 40 % 8);
        let path = ["/usr/share", "/etc/passwd", "/tmp/x"][number as usize % 3];
        let arguments = [
            Argument::new("bytes", Value::Uint64(number)),
            Argument::new("path", Value::String(path.into())),
        ];
        self.event(thread, "request", AsyncBegin { id: number }, &arguments)?;
        self.event(thread, "hand over", FlowBegin { id: number }, &[])?;
        for (depth, name) in ["serve", "parse", "query", "lock", "send"].into_iter().enumerate() {
            for _ in 0..14 - 2 * depth {
                let end = self.ticks + 5_000 - 1_000 * depth as u64 + number % 97;
                self.event(thread, name, DurationComplete { end }, &[])?;
            }
        }
        self.event(thread, "step", DurationBegin, &arguments)?;
        self.event(thread, "moment", Instant { scope: Some(InstantScope::Thread) }, &[])?;
        self.event(thread, "queue", Counter { id: 1 }, &arguments[..1])?;
        self.event(thread, "step", DurationEnd, &[])?;
        let elsewhere = ThreadKoids::new(PROCESS, PROCESS + (number + 1) % 8);
        self.event(elsewhere, "hand over", FlowEnd { id: number }, &[])?;
        self.event(elsewhere, "request", AsyncEnd { id: number }, &[])?;
        self.other_records(thread)
    }

    fn event(
        &mut self,
        thread: ThreadKoids,
        name: &str,
        kind: EventKind,
        arguments: &[Argument<'_>],
    ) -> Result<(), WriteError> {
        let (thread, category) = (Thread::Inline(thread), "server".into());
        let arguments = arguments.into();
        let event =
            Event { ticks: self.ticks, thread, category, name: name.into(), kind, arguments };
        self.ticks += 500;
        self.events += 1;
        self.writer.record(&event.into())
    }

    fn other_records(&mut self, thread: ThreadKoids) -> Result<(), WriteError> {
        let (ticks, message) = (self.ticks, b"a message of some length");
        self.writer.record(&Log { ticks, thread: Thread::Inline(thread), message }.into())?;
        let switch = ContextSwitch {
            ticks,
            cpu: 0,
            outgoing_state: ThreadState::BLOCKED,
            outgoing_thread: thread.thread,
            incoming_thread: PROCESS,
            arguments: Arguments::NONE,
        };
        self.writer.record(&switch.into())?;
        self.ticks += 10_000;
        Ok(())
    }
}
