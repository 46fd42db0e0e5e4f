//! The importer: JSON to FXT.

mod draft;
mod durations;
mod frames;
mod fuchsia;
mod head;
mod ids;
mod operations;
mod record;
mod stacks;
mod system;
mod time;

use std::collections::HashSet;
use std::io::{self, Read, Write};

use trace_analyze::input::Importer;
use trace_format::layout::{
    cut_str, BlobType, ObjectType, ARTIFICIAL_KOID_BIT, MAX_ARGUMENTS, MAX_BLOB_BYTES,
    MAX_STRING_BYTES,
};
use trace_format::{
    Argument, Blob, Event as FxtEvent, EventKind, KernelObject, Text as FxtText, Thread,
    ThreadKoids, Value as Fxt, WriteError, Writer,
};

use super::event::Event;
use super::field::Field;
use super::reader::{Form, Item, Member, Reader, Skipped};
use super::value::{Text, Value};
use crate::json_error::JsonError;
use crate::ConvertError;
use draft::DraftBuffers;
use durations::{Closed, Durations};
use head::Head;
use operations::Operations;
use record::{Kind, Plan};
use stacks::Stacks;
use system::System;
use time::Time;
use trace_analyze::carried::{ADDED, CPUS, DOCUMENT, EVENT, MEMBER, MORE, SHIFT, SHOWN};

/// The provider of all records: its id and name.
const PROVIDER: (u32, &str) = (1, "trace event format");

/// Ticks are nanoseconds. Finer times are carried as arguments.
const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// The length to which names are cut if the record is too long.
const SHORT_NAME_BYTES: usize = 1 << 10;

/// The number of arguments that most records do not exceed: a smaller buffer is faster.
const FEW_ARGUMENTS: usize = 4;

/// The maximum number of processes and threads that get a name.
const MAX_NAMED: usize = 1 << 16;

/// How much is written to the output at once, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The archive that is being made, in memory.
type Archive = Writer<Vec<u8>>;

/// The result of a conversion to FXT.
#[derive(Debug, Default)]
pub struct Summary {
    /// Events that were converted.
    pub events: u64,
    /// Converted events that are carried as JSON, because no record can express them.
    pub carried: u64,
    /// Members of the document, except the events.
    pub members: u64,
    /// Scheduling records of `systemTraceEvents`.
    pub scheduling: u64,
    /// The nanoseconds that were added to all times, see [`Reader::shifted`].
    pub shift: u64,
    /// Events before the time 0 of the archive. Their time is 0.
    pub before_start: u64,
    /// Stacks of events and samples without a backtrace, because there are too many or they would
    /// be much larger than the document.
    pub omitted_backtraces: u64,
    /// The skipped parts of the document. Only a lenient reader skips any.
    pub skipped: Skipped,
}

/// Converts a document to an archive.
///
/// The conversion is lossless: [`chrome::write`](crate::chrome::write) restores a document with the
/// same values.
///
/// # Errors
///
/// The input is not a document, or is malformed and the reader is not lenient, or reading or
/// writing failed. The archive then has the records before the error.
pub fn to_fxt<R: Read, W: Write>(
    reader: Reader<R>,
    mut output: W,
) -> Result<Summary, ConvertError> {
    let mut archive = Writer::new(Vec::new())?;
    let mut importer = DocumentImporter::new(reader, None);
    loop {
        let step = importer.step(&mut archive);
        let is_end = !matches!(step, Ok(true));
        let bytes = archive.output_mut();
        if is_end || bytes.len() >= PIECE_BYTES {
            output.write_all(bytes)?;
            bytes.clear();
        }
        if is_end {
            step?;
            output.flush()?;
            return Ok(importer.into_summary());
        }
    }
}

/// Converts a document, event by event.
#[derive(Debug)]
pub(super) struct DocumentImporter<R> {
    reader: Reader<R>,
    import: Option<Import>,
    report_omitted_backtraces: Option<fn(u64)>,
}

impl<R: Read> DocumentImporter<R> {
    pub(super) fn new(reader: Reader<R>, report_omitted_backtraces: Option<fn(u64)>) -> Self {
        Self { reader, import: None, report_omitted_backtraces }
    }

    /// Writes the records of the next part of the document; `false` at its end.
    fn step(&mut self, writer: &mut Archive) -> Result<bool, ConvertError> {
        let import = match &mut self.import {
            Some(import) => import,
            None => {
                let form = self.reader.form()?;
                self.import.insert(Import::start(writer, form, self.reader.shift())?)
            }
        };
        match self.reader.next()? {
            Some(Item::Event(event)) => import.event(writer, &event)?,
            Some(Item::Member(member)) => import.member(writer, &member)?,
            None => {
                import.summary.scheduling += import.system.finish(writer, import.time.shift)?;
                import.stacks.finish(writer)?;
                import.summary.omitted_backtraces = import.stacks.omitted;
                import.summary.before_start = import.time.before_start;
                if let (Some(report), 1..) = (self.report_omitted_backtraces, import.stacks.omitted)
                {
                    report(import.stacks.omitted);
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn into_summary(self) -> Summary {
        let summary = self.import.map(|import| import.summary).unwrap_or_default();
        Summary { skipped: self.reader.into_skipped(), ..summary }
    }
}

impl<R: Read> Importer for DocumentImporter<R> {
    fn import(&mut self, archive: &mut Writer<Vec<u8>>) -> io::Result<bool> {
        let skipped = match self.step(archive) {
            Ok(false) => self.reader.skipped(),
            result => return result.map_err(into_io),
        };
        match &skipped.first {
            None => Ok(false),
            // An unexpected end: the records so far are valid.
            Some(first) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "events and members that cannot be read, left out: {}, {} bytes, the first: {first}",
                    skipped.parts, skipped.bytes
                ),
            )),
        }
    }
}

fn into_io(error: ConvertError) -> io::Error {
    match error {
        ConvertError::Json(JsonError::Io(error)) | ConvertError::Write(error) => error,
        ConvertError::Json(error) => io::Error::new(io::ErrorKind::InvalidData, error),
        error @ ConvertError::Read(_) => io::Error::other(error),
    }
}

/// A conversion to FXT in progress.
#[derive(Debug)]
struct Import {
    summary: Summary,
    /// Buffers that are reused for each event.
    buffers: DraftBuffers,
    time: Time,
    /// The threads, and processes as thread 0, that have an artificial koid and a name.
    named: HashSet<ThreadKoids>,
    durations: Durations,
    operations: Operations,
    system: System,
    stacks: Stacks,
}

impl Import {
    fn start(writer: &mut Archive, form: Form, shift: u64) -> Result<Self, WriteError> {
        writer.provider(PROVIDER.0, PROVIDER.1)?;
        writer.initialization(TICKS_PER_SECOND)?;
        let form = match form {
            Form::Array => "array",
            Form::Object => "object",
        };
        blobs(writer, DOCUMENT, &[form])?;
        if shift > 0 {
            blobs(writer, SHIFT, &[&shift.to_string()])?;
        }
        Ok(Self {
            summary: Summary { shift, ..Summary::default() },
            buffers: DraftBuffers::default(),
            time: Time { shift, ..Time::default() },
            named: HashSet::new(),
            durations: Durations::default(),
            operations: Operations::default(),
            system: System::default(),
            stacks: Stacks::default(),
        })
    }

    fn member(&mut self, writer: &mut Archive, member: &Member<'_>) -> Result<(), WriteError> {
        self.summary.members += 1;
        self.system.member(member);
        self.stacks.member(member, self.time.shift, |thread| self.system.process_of(thread));
        blobs(writer, MEMBER, &["\"", member.key.written(), "\":", member.written])
    }

    #[inline]
    fn event(&mut self, writer: &mut Archive, event: &Event<'_>) -> Result<(), WriteError> {
        self.summary.events += 1;
        let buffers = std::mem::take(&mut self.buffers);
        let mut plan = Plan::new(event, buffers, &mut self.time, &mut self.operations);
        if plan.head.thread.process == CPUS && event.other(ADDED) == Some(Value::Bool(true)) {
            self.buffers = plan.draft.into_buffers();
            return blobs(writer, ADDED, &[event.text()]);
        }
        self.time.now = plan.head.ticks;
        self.system.event(event, &plan);
        self.close_durations(writer, &mut plan)?;
        if let (Kind::Event(_), ThreadKoids { process, thread }) = (&plan.kind, plan.head.thread) {
            if (process | thread) & ARTIFICIAL_KOID_BIT != 0 {
                self.name_artificial(writer, event, plan.head.thread)?;
            }
        }
        let (place, is_event) =
            ((plan.head.ticks, plan.head.thread), matches!(plan.kind, Kind::Event(_)));
        if plan.draft.fits && Self::put(writer, &plan)? {
            self.buffers = plan.draft.into_buffers();
        } else {
            self.carry(writer, event, plan)?;
        }
        if is_event {
            self.stacks.event(writer, event, place)?;
        }
        Ok(())
    }

    /// Adds or removes ends, so that an end closes the same durations in FXT as in JSON.
    fn close_durations(
        &mut self,
        writer: &mut Archive,
        plan: &mut Plan<'_>,
    ) -> Result<(), WriteError> {
        let Kind::Event(kind) = plan.kind else { return Ok(()) };
        let (category, name) = (plan.draft.of(plan.head.category), plan.draft.of(plan.head.name));
        let place = (plan.head.ticks, plan.head.thread);
        let closed = match kind {
            EventKind::DurationBegin => {
                self.durations.begin(place, category, name);
                return Ok(());
            }
            EventKind::DurationEnd => self.durations.end(place, category, name),
            _ => return Ok(()),
        };
        match closed {
            Closed::Around(inside) => (0..inside).try_for_each(|_| added_end(writer, &plan.head)),
            Closed::Nothing => {
                plan.kind = Kind::None;
                Ok(())
            }
        }
    }

    /// Names processes and threads whose ids are strings, for viewers.
    #[cold]
    fn name_artificial(
        &mut self,
        writer: &mut Archive,
        event: &Event<'_>,
        koids: ThreadKoids,
    ) -> Result<(), WriteError> {
        let is_artificial = |koid| koid & ARTIFICIAL_KOID_BIT != 0;
        if let (Some(Value::String(name)), true) =
            (event.get(Field::Process), is_artificial(koids.process))
        {
            let process = ThreadKoids::new(koids.process, 0);
            self.name(writer, process, ObjectType::PROCESS, koids.process, &name.to_str())?;
        }
        if let (Some(Value::String(name)), true) =
            (event.get(Field::Thread), is_artificial(koids.thread))
        {
            self.name(writer, koids, ObjectType::THREAD, koids.thread, &name.to_str())?;
        }
        Ok(())
    }

    fn name(
        &mut self,
        writer: &mut Archive,
        koids: ThreadKoids,
        object_type: ObjectType,
        koid: u64,
        name: &str,
    ) -> Result<(), WriteError> {
        if self.named.len() == MAX_NAMED || !self.named.insert(koids) {
            return Ok(());
        }
        let arguments = [
            Argument::new("process", Fxt::Koid(koids.process)),
            Argument::new(ADDED, Fxt::Bool(true)),
        ];
        let arguments = match object_type {
            ObjectType::THREAD => &arguments[..],
            _ => &arguments[1..],
        };
        let (name, arguments) = (name.into(), arguments.into());
        writer.record(&KernelObject { object_type, koid, name, arguments }.into())
    }

    /// Writes a record; returns `false` if the event has no record, or a too long one.
    #[inline]
    fn put(writer: &mut Archive, plan: &Plan<'_>) -> Result<bool, WriteError> {
        match plan.draft.count() {
            0..=FEW_ARGUMENTS => Self::put_within::<FEW_ARGUMENTS>(writer, plan),
            _ => Self::put_within::<MAX_ARGUMENTS>(writer, plan),
        }
    }

    /// Writes a record with at most `N` arguments.
    fn put_within<const N: usize>(
        writer: &mut Archive,
        plan: &Plan<'_>,
    ) -> Result<bool, WriteError> {
        let mut buffer = [Argument { name: FxtText::EMPTY, value: Fxt::Null }; N];
        let Some(record) = plan.record(&mut buffer) else {
            return Ok(false);
        };
        match writer.record(&record) {
            Ok(()) => Ok(true),
            Err(WriteError::Encode(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an event as JSON, and a record of it for viewers.
    #[cold]
    fn carry<'a>(
        &mut self,
        writer: &mut Archive,
        event: &Event<'a>,
        mut plan: Plan<'a>,
    ) -> Result<(), WriteError> {
        self.summary.carried += 1;
        blobs(writer, EVENT, &[event.text()])?;
        let is_counter = matches!(plan.kind, Kind::Event(EventKind::Counter { .. }));
        let series = if is_counter { series(event) } else { Vec::new() };
        let mut pieces = series.chunks(MAX_ARGUMENTS);
        loop {
            let piece = pieces.next().unwrap_or_default();
            if is_counter {
                blobs(writer, SHOWN, &[])?;
            }
            plan.shadow(piece, MAX_STRING_BYTES);
            if !Self::put(writer, &plan)? {
                // Many long names exceed a record.
                plan.shadow(piece, SHORT_NAME_BYTES);
                Self::put(writer, &plan)?;
            }
            if pieces.len() == 0 {
                break;
            }
        }
        self.buffers = plan.draft.into_buffers();
        Ok(())
    }
}

/// Writes the end of a duration whose parent ends.
fn added_end(writer: &mut Archive, head: &Head<'_>) -> Result<(), WriteError> {
    let arguments = [Argument::new(ADDED, Fxt::Bool(true))];
    let (category, name, kind) = (FxtText::EMPTY, FxtText::EMPTY, EventKind::DurationEnd);
    let (ticks, thread) = (head.ticks, Thread::Inline(head.thread));
    let arguments = (&arguments).into();
    writer.record(&FxtEvent { ticks, thread, category, name, kind, arguments }.into())
}

/// Writes the name of a process, or of a thread and its process if it is known.
fn name_object(
    writer: &mut Archive,
    (object_type, koid): (ObjectType, u64),
    name: &str,
    process: Option<u64>,
) -> Result<(), WriteError> {
    let arguments = [
        Argument::new(ADDED, Fxt::Bool(true)),
        Argument::new("process", Fxt::Koid(process.unwrap_or(0))),
    ];
    let arguments = arguments[..1 + usize::from(process.is_some())].into();
    let name = cut_str(name, MAX_STRING_BYTES).into();
    writer.record(&KernelObject { object_type, koid, name, arguments }.into())
}

/// Writes the concatenation of texts in one or more blobs.
fn blobs(writer: &mut Archive, name: &str, parts: &[&str]) -> Result<(), WriteError> {
    let mut name = name;
    let mut piece = Vec::new();
    for part in parts {
        let mut rest = part.as_bytes();
        while piece.len() + rest.len() > MAX_BLOB_BYTES {
            let (fits, more) = rest.split_at(MAX_BLOB_BYTES - piece.len());
            piece.extend_from_slice(fits);
            blob(writer, std::mem::replace(&mut name, MORE), &piece)?;
            piece.clear();
            rest = more;
        }
        piece.extend_from_slice(rest);
    }
    blob(writer, name, &piece)
}

fn blob(writer: &mut Archive, name: &str, payload: &[u8]) -> Result<(), WriteError> {
    let blob = Blob { name: name.into(), blob_type: BlobType::DATA, payload };
    writer.record(&blob.into())
}

/// Returns the series of a counter. Of a repeated key the last one is used.
fn series<'a>(event: &Event<'a>) -> Vec<(Text<'a>, Value<'a>)> {
    let mut series: Vec<_> = event.arguments().collect();
    let mut keys = HashSet::new();
    series.reverse();
    series.retain(|(key, value)| keys.insert(key.to_str()) && matches!(value, Value::Number(_)));
    series.reverse();
    series
}
