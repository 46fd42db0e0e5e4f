//! From JSON to FXT.

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
    BlobType, ObjectType, ARTIFICIAL_KOID_BIT, MAX_ARGUMENTS, MAX_BLOB_BYTES, MAX_STRING_BYTES,
};
use trace_format::{
    Argument, Blob, Event as FxtEvent, EventKind, KernelObject, Text as FxtText, Thread,
    ThreadKoids, Value as Fxt, WriteError, Writer,
};

use super::error::JsonError;
use super::event::Event;
use super::reader::{Form, Item, Member, Reader, Skipped};
use super::value::{Text, Value};
use crate::ConvertError;
use draft::Room;
use durations::{Closed, Durations};
use head::Head;
use operations::Operations;
use record::{Kind, Plan};
use stacks::Stacks;
use system::System;
use time::Time;
use trace_analyze::carried::{ADDED, CPUS, DOCUMENT, EVENT, MEMBER, MORE, SHIFT, SHOWN};

/// The provider of all records, and its name.
const PROVIDER: (u32, &str) = (1, "trace event format");

/// Times are in nanoseconds; what is finer is carried beside.
const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// What fits of a name where there is no room for all of it.
const FEW_BYTES: usize = 1 << 10;

/// What most records have at most: to make room for all takes its time.
const FEW_ARGUMENTS: usize = 4;

/// The most processes and threads that are given names; others stay numbers.
const MAX_NAMED: usize = 1 << 16;

/// How much is written to the output at once, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The archive that is being made, in memory.
type Archive = Writer<Vec<u8>>;

/// What a conversion to FXT has come to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Events that were converted.
    pub events: u64,
    /// Those of them that are carried as a whole, because no record has room for what they are.
    pub carried: u64,
    /// Members of the document beside the events.
    pub members: u64,
    /// Scheduling records that were made of `systemTraceEvents`.
    pub scheduling: u64,
    /// By how many nanoseconds times are later in the archive, as [`Reader::shifted`] has it.
    pub shift: u64,
    /// Events before the time 0 of the archive, which are at 0.
    pub before_start: u64,
    /// Stacks of events and samples that have no backtrace, because there are too many of them or
    /// they would be much larger than the document.
    pub omitted_backtraces: u64,
    /// What was left out; nothing unless the reader is lenient.
    pub skipped: Skipped,
}

/// Writes all that `reader` reads to `output` as an archive.
///
/// Nothing is lost: [`chrome::write`](crate::chrome::write) makes a document of the archive that
/// has the same values.
///
/// # Errors
///
/// The input is no document, or a part of it is wrong and the reader is not lenient, or reading or
/// writing failed: the archive then ends there.
pub fn to_fxt<R: Read, W: Write>(
    reader: Reader<R>,
    mut output: W,
) -> Result<Summary, ConvertError> {
    let mut archive = Writer::new(Vec::new())?;
    let mut importer = DocumentImporter::new(reader);
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

/// Makes an archive of a document, event by event.
#[derive(Debug)]
pub(super) struct DocumentImporter<R> {
    reader: Reader<R>,
    import: Option<Import>,
}

impl<R: Read> DocumentImporter<R> {
    pub(super) fn new(reader: Reader<R>) -> Self {
        Self { reader, import: None }
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
            // It ends early, and what was read counts.
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

/// A conversion under way.
#[derive(Debug)]
struct Import {
    summary: Summary,
    /// Room that is used again for each event.
    room: Room,
    time: Time,
    /// The threads, and processes as thread 0, whose koids are made up and that have a name.
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
            room: Room::default(),
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
        let room = std::mem::take(&mut self.room);
        let mut plan = Plan::new(event, room, &mut self.time, &mut self.operations);
        if plan.head.thread.process == CPUS && event.other(ADDED) == Some(Value::Bool(true)) {
            self.room = plan.draft.into_room();
            return blobs(writer, ADDED, &[event.text()]);
        }
        self.time.now = plan.head.ticks;
        self.system.event(event, &plan);
        self.close_durations(writer, &mut plan)?;
        if let (Kind::Event(_), ThreadKoids { process, thread }) = (&plan.kind, plan.head.thread) {
            if (process | thread) & ARTIFICIAL_KOID_BIT != 0 {
                self.name_made_up(writer, event, plan.head.thread)?;
            }
        }
        let (place, is_event) =
            ((plan.head.ticks, plan.head.thread), matches!(plan.kind, Kind::Event(_)));
        if plan.draft.fits && Self::put(writer, &plan)? {
            self.room = plan.draft.into_room();
        } else {
            self.carry(writer, event, plan)?;
        }
        if is_event {
            self.stacks.event(writer, event, place)?;
        }
        Ok(())
    }

    /// Adds or removes ends, so that readers of FXT close the same durations as those of JSON.
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

    /// Gives processes and threads that are strings their names, for viewers.
    #[cold]
    fn name_made_up(
        &mut self,
        writer: &mut Archive,
        event: &Event<'_>,
        koids: ThreadKoids,
    ) -> Result<(), WriteError> {
        let is_made_up = |koid| koid & ARTIFICIAL_KOID_BIT != 0;
        if let (Some(Value::String(name)), true) = (event.process(), is_made_up(koids.process)) {
            let process = ThreadKoids::new(koids.process, 0);
            self.name(writer, process, ObjectType::PROCESS, koids.process, &name.to_str())?;
        }
        if let (Some(Value::String(name)), true) = (event.thread(), is_made_up(koids.thread)) {
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

    /// Writes a record; false if it is none, or too long.
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
        let mut room = [Argument { name: FxtText::EMPTY, value: Fxt::Null }; N];
        let Some(record) = plan.record(&mut room) else {
            return Ok(false);
        };
        match writer.record(&record) {
            Ok(()) => Ok(true),
            Err(WriteError::Encode(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an event as a whole, and what viewers can see of it.
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
                // Names have to do with less where there are many.
                plan.shadow(piece, FEW_BYTES);
                Self::put(writer, &plan)?;
            }
            if pieces.len() == 0 {
                break;
            }
        }
        self.room = plan.draft.into_room();
        Ok(())
    }
}

/// Writes the end of a duration that is over because the one around it ends.
fn added_end(writer: &mut Archive, head: &Head<'_>) -> Result<(), WriteError> {
    let arguments = [Argument::new(ADDED, Fxt::Bool(true))];
    let (category, name, kind) = (FxtText::EMPTY, FxtText::EMPTY, EventKind::DurationEnd);
    let (ticks, thread) = (head.ticks, Thread::Inline(head.thread));
    let arguments = (&arguments).into();
    writer.record(&FxtEvent { ticks, thread, category, name, kind, arguments }.into())
}

/// Writes a text, of these parts, in as many blobs as it takes.
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

/// Returns the series of a counter; of a key that comes twice the last.
fn series<'a>(event: &Event<'a>) -> Vec<(Text<'a>, Value<'a>)> {
    let mut series: Vec<_> = event.arguments().collect();
    let mut keys = HashSet::new();
    series.reverse();
    series.retain(|(key, value)| keys.insert(key.to_str()) && matches!(value, Value::Number(_)));
    series.reverse();
    series
}
