//! Calls as durations of an archive.

use std::collections::BTreeSet;
use std::io::Write;

use trace_format::layout::{InstantScope, ObjectType};
use trace_format::notes::CLOCK_ANCHOR;
use trace_format::{
    Argument, Arguments, Event, EventKind, KernelObject, Thread, ThreadKoids, Value, Writer,
};

use super::{ticks, visit, Decoder, PrintError, Summary, Visitor};
use crate::calls::{Calls, Change};
use crate::flow::{Event as FlowEvent, FlowError, Item};
use crate::recording::{Anchor, Recording, Trace};
use crate::symbols::Symbols;

/// The category of all durations.
const CATEGORY: &str = "insn";

/// The instant where packets and code do not agree.
const DESYNCHRONIZED: &str = "desynchronized";

/// The instant where packets are missing.
const LOST: &str = "packets lost";

const INSTANT: EventKind = EventKind::Instant { scope: Some(InstantScope::Thread) };

struct Durations<'w, 's, 'a, W> {
    writer: &'w mut Writer<W>,
    calls: Calls<'s, 'a>,
    thread: Thread,
}

pub(super) fn write<W: Write>(
    recording: &Recording,
    chosen: &[Trace],
    symbols: &mut Symbols<'_>,
    out: W,
) -> Result<Summary, PrintError> {
    let mut writer = Writer::new(out).map_err(PrintError::Archive)?;
    write_head(&mut writer, recording, chosen).map_err(PrintError::Archive)?;
    let mut summary = Summary::default();
    for trace in chosen {
        let koids = ThreadKoids::new(u64::from(trace.pid), u64::from(trace.tid));
        let (calls, thread) = (Calls::new(symbols), Thread::Inline(koids));
        let mut durations = Durations { writer: &mut writer, calls, thread };
        let end = visit(recording, trace, &mut summary, &mut durations)?;
        let changes = durations.calls.end(end).to_vec();
        durations.write(&changes)?;
    }
    // The engine was killed before its second anchor. This archive is complete all the same.
    if let [anchor] = recording.anchors() {
        write_anchor(&mut writer, anchor).map_err(PrintError::Archive)?;
    }
    writer.flush().map_err(PrintError::Archive)?;
    Ok(summary)
}

/// Writes the clock, and the names of threads and processes.
fn write_head<W: Write>(
    writer: &mut Writer<W>,
    recording: &Recording,
    chosen: &[Trace],
) -> Result<(), trace_format::WriteError> {
    writer.provider(1, "insntrace")?;
    writer.initialization(recording.ticks_per_second().max(1))?;
    for anchor in recording.anchors() {
        write_anchor(writer, anchor)?;
    }
    let mut named = BTreeSet::new();
    for trace in chosen {
        let (pid, tid) = (u64::from(trace.pid), u64::from(trace.tid));
        if named.insert(pid) {
            write_name(writer, (ObjectType::PROCESS, pid), &trace.name, &[])?;
        }
        let process = [Argument::new("process", Value::Koid(pid))];
        write_name(writer, (ObjectType::THREAD, tid), &trace.name, &process)?;
    }
    Ok(())
}

fn write_anchor<W: Write>(
    writer: &mut Writer<W>,
    anchor: &Anchor,
) -> Result<(), trace_format::WriteError> {
    let arguments: Vec<_> = anchor
        .iter()
        .map(|(name, value)| Argument::new(name.as_str(), Value::Uint64(*value)))
        .collect();
    let event = Event {
        ticks: anchor.first().map_or(0, |(_, ticks)| *ticks),
        thread: Thread::Inline(ThreadKoids::new(0, 0)),
        category: "trace".into(),
        name: CLOCK_ANCHOR.into(),
        kind: EventKind::Instant { scope: Some(InstantScope::Global) },
        arguments: (&arguments[..]).into(),
    };
    writer.record(&event.into())
}

fn write_name<W: Write>(
    writer: &mut Writer<W>,
    (object_type, koid): (ObjectType, u64),
    name: &str,
    arguments: &[Argument<'_>],
) -> Result<(), trace_format::WriteError> {
    let arguments = arguments.into();
    writer.record(&KernelObject { object_type, koid, name: name.into(), arguments }.into())
}

impl<W: Write> Durations<'_, '_, '_, W> {
    fn write(&mut self, changes: &[Change]) -> Result<(), PrintError> {
        for change in changes {
            let (kind, name) = match &change.enter {
                Some(name) => (EventKind::DurationBegin, &**name),
                None => (EventKind::DurationEnd, ""),
            };
            let inlined = [Argument::new("inlined", Value::Bool(true))];
            let arguments = match change.is_inlined {
                true => (&inlined).into(),
                false => Arguments::NONE,
            };
            self.event(change.ticks, kind, name, arguments)?;
        }
        Ok(())
    }

    fn event(
        &mut self,
        ticks: u64,
        kind: EventKind,
        name: &str,
        arguments: Arguments<'_>,
    ) -> Result<(), PrintError> {
        let (category, name, thread) = (CATEGORY.into(), name.into(), self.thread);
        let event = Event { ticks, thread, category, name, kind, arguments };
        self.writer.record(&event.into()).map_err(PrintError::Archive)
    }
}

impl<W: Write> Visitor for Durations<'_, '_, '_, W> {
    fn item(&mut self, decoder: &Decoder<'_>, item: &Item) -> Result<(), PrintError> {
        let changes =
            self.calls.item(decoder.space(), decoder.notes(), item, ticks(decoder)).to_vec();
        self.write(&changes)?;
        match item {
            Item::Event(FlowEvent::Overflow { .. }) => {
                self.event(ticks(decoder), INSTANT, LOST, Arguments::NONE)
            }
            _ => Ok(()),
        }
    }

    fn error(&mut self, decoder: &Decoder<'_>, error: &FlowError) -> Result<(), PrintError> {
        let now = ticks(decoder);
        let changes = self.calls.end(now).to_vec();
        self.write(&changes)?;
        let reason = error.kind.to_string();
        let arguments = [
            Argument::new("offset", Value::Uint64(error.offset)),
            Argument::new("reason", Value::String(reason.as_str().into())),
        ];
        self.event(now, INSTANT, DESYNCHRONIZED, (&arguments).into())
    }
}
