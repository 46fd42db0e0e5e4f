//! From JSON to FXT.

mod draft;
mod fuchsia;
mod head;
mod operations;
mod record;
mod system;

use std::collections::HashSet;
use std::io::{Read, Write};

use trace_format::layout::{
    BlobType, ObjectType, ARTIFICIAL_KOID_BIT, MAX_ARGUMENTS, MAX_BLOB_BYTES, MAX_STRING_BYTES,
};
use trace_format::{
    Argument, Blob, EventKind, KernelObject, Text as FxtText, ThreadKoids, Value as Fxt,
    WriteError, Writer,
};

use super::event::Event;
use super::reader::{Form, Item, Member, Reader, Skipped};
use super::value::{Text, Value};
use crate::ConvertError;
use draft::Room;
use operations::Operations;
use record::{Kind, Plan};
use system::System;
use trace_analyze::carried::{ADDED, CPUS, DOCUMENT, EVENT, MEMBER, MORE};

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

/// What a conversion to FXT has come to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Events that were converted.
    pub events: u64,
    /// Those of them that are carried as a whole, because no record has room
    /// for what they are.
    pub carried: u64,
    /// Members of the document beside the events.
    pub members: u64,
    /// Scheduling records that were made of `systemTraceEvents`.
    pub scheduling: u64,
    /// What was left out; nothing unless the reader is lenient.
    pub skipped: Skipped,
}

/// Writes all that `reader` reads to `output` as an archive.
///
/// Nothing is lost: [`chrome::write`](crate::chrome::write) makes a document of
/// the archive that has the same values.
///
/// # Errors
///
/// The input is no document, or a part of it is wrong and the reader is not
/// lenient, or reading or writing failed: the archive then ends there.
pub fn to_fxt<R: Read, W: Write>(
    mut reader: Reader<R>,
    output: W,
) -> Result<Summary, ConvertError> {
    let form = reader.form()?;
    let mut import = Import::new(Writer::new(output)?, form)?;
    while let Some(item) = reader.next()? {
        match item {
            Item::Event(event) => import.event(&event)?,
            Item::Member(member) => import.member(&member)?,
        }
    }
    import.summary.skipped = reader.into_skipped();
    import.summary.scheduling = import.system.finish(&mut import.writer)?;
    import.writer.flush()?;
    Ok(import.summary)
}

/// A conversion under way.
#[derive(Debug)]
struct Import<W> {
    writer: Writer<W>,
    summary: Summary,
    /// Room that is used again for each event.
    room: Room,
    /// The time of the event that had one last.
    now: u64,
    /// The threads, and processes as thread 0, whose koids are made up and that
    /// have a name.
    named: HashSet<ThreadKoids>,
    operations: Operations,
    system: System,
}

impl<W: Write> Import<W> {
    fn new(mut writer: Writer<W>, form: Form) -> Result<Self, WriteError> {
        writer.provider(PROVIDER.0, PROVIDER.1)?;
        writer.initialization(TICKS_PER_SECOND)?;
        let form = match form {
            Form::Array => "array",
            Form::Object => "object",
        };
        let mut import = Self {
            writer,
            summary: Summary::default(),
            room: Room::default(),
            now: 0,
            named: HashSet::new(),
            operations: Operations::default(),
            system: System::default(),
        };
        import.blobs(DOCUMENT, &[form])?;
        Ok(import)
    }

    fn member(&mut self, member: &Member<'_>) -> Result<(), WriteError> {
        self.summary.members += 1;
        self.system.member(member);
        self.blobs(MEMBER, &["\"", member.key.written(), "\":", member.written])
    }

    #[inline]
    fn event(&mut self, event: &Event<'_>) -> Result<(), WriteError> {
        self.summary.events += 1;
        let room = std::mem::take(&mut self.room);
        let plan = Plan::new(event, room, self.now, &mut self.operations);
        if plan.head.thread.process == CPUS && event.other(ADDED) == Some(Value::Bool(true)) {
            self.room = plan.draft.into_room();
            return self.blobs(ADDED, &[event.text()]);
        }
        self.now = plan.head.ticks;
        self.system.event(event, &plan);
        if let (Kind::Event(_), ThreadKoids { process, thread }) = (&plan.kind, plan.head.thread) {
            if (process | thread) & ARTIFICIAL_KOID_BIT != 0 {
                self.name_made_up(event, plan.head.thread)?;
            }
        }
        if plan.draft.fits && self.put(&plan)? {
            self.room = plan.draft.into_room();
            return Ok(());
        }
        self.carry(event, plan)
    }

    /// Gives processes and threads that are strings their names, for viewers.
    #[cold]
    fn name_made_up(&mut self, event: &Event<'_>, koids: ThreadKoids) -> Result<(), WriteError> {
        let is_made_up = |koid| koid & ARTIFICIAL_KOID_BIT != 0;
        if let (Some(Value::String(name)), true) = (event.process(), is_made_up(koids.process)) {
            let process = ThreadKoids::new(koids.process, 0);
            self.name(process, ObjectType::PROCESS, koids.process, &name.to_str())?;
        }
        if let (Some(Value::String(name)), true) = (event.thread(), is_made_up(koids.thread)) {
            self.name(koids, ObjectType::THREAD, koids.thread, &name.to_str())?;
        }
        Ok(())
    }

    fn name(
        &mut self,
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
        self.writer.record(&KernelObject { object_type, koid, name, arguments }.into())
    }

    /// Writes a record; false if it is none, or too long.
    #[inline]
    fn put(&mut self, plan: &Plan<'_>) -> Result<bool, WriteError> {
        match plan.draft.count() {
            0..=FEW_ARGUMENTS => self.put_within::<FEW_ARGUMENTS>(plan),
            _ => self.put_within::<MAX_ARGUMENTS>(plan),
        }
    }

    /// Writes a record with at most `N` arguments.
    fn put_within<const N: usize>(&mut self, plan: &Plan<'_>) -> Result<bool, WriteError> {
        let mut room = [Argument { name: FxtText::EMPTY, value: Fxt::Null }; N];
        let Some(record) = plan.record(&mut room) else {
            return Ok(false);
        };
        match self.writer.record(&record) {
            Ok(()) => Ok(true),
            Err(WriteError::Encode(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an event as a whole, and what viewers can see of it.
    #[cold]
    fn carry<'a>(&mut self, event: &Event<'a>, mut plan: Plan<'a>) -> Result<(), WriteError> {
        self.summary.carried += 1;
        self.blobs(EVENT, &[event.text()])?;
        let series = match plan.kind {
            Kind::Event(EventKind::Counter { .. }) => series(event),
            _ => Vec::new(),
        };
        // One place is for the mark.
        let mut pieces = series.chunks(MAX_ARGUMENTS - 1);
        loop {
            let piece = pieces.next().unwrap_or_default();
            plan.shadow(piece, MAX_STRING_BYTES);
            if !self.put(&plan)? {
                // Names have to do with less where there are many.
                plan.shadow(piece, FEW_BYTES);
                self.put(&plan)?;
            }
            if pieces.len() == 0 {
                break;
            }
        }
        self.room = plan.draft.into_room();
        Ok(())
    }

    /// Writes a text, of these parts, in as many blobs as it takes.
    fn blobs(&mut self, name: &str, parts: &[&str]) -> Result<(), WriteError> {
        let mut name = name;
        let mut piece = Vec::new();
        for part in parts {
            let mut rest = part.as_bytes();
            while piece.len() + rest.len() > MAX_BLOB_BYTES {
                let (fits, more) = rest.split_at(MAX_BLOB_BYTES - piece.len());
                piece.extend_from_slice(fits);
                self.blob(std::mem::replace(&mut name, MORE), &piece)?;
                piece.clear();
                rest = more;
            }
            piece.extend_from_slice(rest);
        }
        self.blob(name, &piece)
    }

    fn blob(&mut self, name: &str, payload: &[u8]) -> Result<(), WriteError> {
        let blob = Blob { name: name.into(), blob_type: BlobType::DATA, payload };
        self.writer.record(&blob.into())
    }
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
