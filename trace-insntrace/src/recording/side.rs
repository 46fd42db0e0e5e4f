//! Notes as records of an archive.
//!
//! | note | record of category `insntrace` | arguments |
//! |---|---|---|
//! | thread | instant `thread` of the thread | `trace`, `name` |
//! | mapping | instant `mapping` | `space`, `address`, `size`, `offset`, `path`, `build id` |
//! | code | large blob `code` | `space`, `address` |
//! | position | instant `position` | `trace`, `offset`, `space` |
//! | end | instant `end` | `trace`, and `exited` or `killed` |

use std::io::Write;

use trace_format::layout::InstantScope;
use trace_format::{
    Argument, Arguments, Event, EventKind, Item, LargeBlob, LargeBlobEvent, ReadError, Reader,
    Record, Thread, ThreadKoids, Value, WriteError, Writer,
};

use super::note::{Mapping, Note, SpaceId, ThreadEnd, TraceId};

const CATEGORY: &str = "insntrace";

/// Writes a note. `ticks` is the current time.
pub(super) fn write<W: Write>(
    writer: &mut Writer<W>,
    ticks: u64,
    note: &Note,
) -> Result<(), WriteError> {
    let number = |name, value: u64| Argument::new(name, Value::Uint64(value));
    let (name, place, arguments) = match note {
        Note::Thread { trace, pid, tid, name } => {
            let koids = ThreadKoids::new(u64::from(*pid), u64::from(*tid));
            let name = Argument::new("name", Value::String(name.as_str().into()));
            ("thread", koids, vec![number("trace", trace.0.into()), name])
        }
        Note::Mapping { space, mapping } => {
            return write_mapping(writer, ticks, *space, mapping);
        }
        Note::Code { space, address, bytes } => {
            let arguments = [number("space", space.0.into()), number("address", *address)];
            return write_code(writer, ticks, &arguments, bytes);
        }
        Note::Position { trace, offset, space } => {
            let numbers =
                [("trace", trace.0.into()), ("offset", *offset), ("space", space.0.into())];
            ("position", NOWHERE, numbers.map(|(name, value)| number(name, value)).to_vec())
        }
        Note::End { trace, end } => {
            let status = |name, status| Argument::new(name, Value::Int32(status));
            let end = match *end {
                ThreadEnd::Exited(code) => Some(status("exited", code)),
                ThreadEnd::Killed(signal) => Some(status("killed", signal)),
                ThreadEnd::Detached => None,
            };
            ("end", NOWHERE, [number("trace", trace.0.into())].into_iter().chain(end).collect())
        }
    };
    write_instant(writer, ticks, (place, name), &arguments)
}

/// The thread of events that belong to none.
const NOWHERE: ThreadKoids = ThreadKoids::new(0, 0);

fn write_mapping<W: Write>(
    writer: &mut Writer<W>,
    ticks: u64,
    space: SpaceId,
    mapping: &Mapping,
) -> Result<(), WriteError> {
    let build_id = mapping.build_id.as_deref().map(hex).unwrap_or_default();
    let text = |text: &'static str, value| Argument::new(text, Value::String(value));
    let arguments = [
        Argument::new("space", Value::Uint64(space.0.into())),
        Argument::new("address", Value::Uint64(mapping.address)),
        Argument::new("size", Value::Uint64(mapping.size)),
        Argument::new("offset", Value::Uint64(mapping.offset)),
        text("path", mapping.path.as_str().into()),
        text("build id", build_id.as_str().into()),
    ];
    write_instant(writer, ticks, (NOWHERE, "mapping"), &arguments)
}

fn write_code<W: Write>(
    writer: &mut Writer<W>,
    ticks: u64,
    arguments: &[Argument<'_>],
    bytes: &[u8],
) -> Result<(), WriteError> {
    let thread = Thread::Inline(NOWHERE);
    let event = LargeBlobEvent { ticks, thread, arguments: arguments.into() };
    let (category, name) = (CATEGORY.into(), "code".into());
    writer.record(&LargeBlob { category, name, event: Some(event), payload: bytes }.into())
}

fn write_instant<W: Write>(
    writer: &mut Writer<W>,
    ticks: u64,
    (place, name): (ThreadKoids, &str),
    arguments: &[Argument<'_>],
) -> Result<(), WriteError> {
    let event = Event {
        ticks,
        thread: Thread::Inline(place),
        category: CATEGORY.into(),
        name: name.into(),
        kind: EventKind::Instant { scope: Some(InstantScope::Thread) },
        arguments: arguments.into(),
    };
    writer.record(&event.into())
}

/// Returns an archive of notes, without times.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) fn notes_to_archive(notes: &[Note]) -> Result<Vec<u8>, WriteError> {
    let mut writer = Writer::new(Vec::new())?;
    for note in notes {
        write(&mut writer, 0, note)?;
    }
    writer.flush()?;
    Ok(writer.into_inner())
}

/// Returns the notes of an archive.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) fn notes_of_archive(archive: impl std::io::Read) -> Result<Vec<Note>, ReadError> {
    let mut reader = Reader::new(std::io::BufReader::new(archive));
    let mut notes = Vec::new();
    while let Some(item) = reader.next()? {
        notes.extend(read(&item));
    }
    Ok(notes)
}

/// Returns the note of a record, or `None` if it is another record.
pub(super) fn read(item: &Item<'_>) -> Option<Note> {
    match &item.record {
        Record::Event(event) if item.text(event.category) == CATEGORY => read_instant(item, event),
        Record::LargeBlob(blob) if item.text(blob.category) == CATEGORY => {
            let fields = Fields { item, arguments: blob.event?.arguments };
            let (space, address) = (fields.space()?, fields.number("address")?);
            Some(Note::Code { space, address, bytes: blob.payload.to_vec() })
        }
        _ => None,
    }
}

fn read_instant(item: &Item<'_>, event: &Event<'_>) -> Option<Note> {
    let fields = Fields { item, arguments: event.arguments };
    Some(match &*item.text(event.name) {
        "thread" => {
            let koids = item.thread(event.thread);
            let (pid, tid) = (koids.process.try_into().ok()?, koids.thread.try_into().ok()?);
            Note::Thread { trace: fields.trace()?, pid, tid, name: fields.text("name")? }
        }
        "mapping" => Note::Mapping { space: fields.space()?, mapping: fields.mapping()? },
        "position" => {
            let (trace, offset) = (fields.trace()?, fields.number("offset")?);
            Note::Position { trace, offset, space: fields.space()? }
        }
        "end" => Note::End { trace: fields.trace()?, end: fields.end() },
        _ => return None,
    })
}

/// The arguments of a record.
struct Fields<'a> {
    item: &'a Item<'a>,
    arguments: Arguments<'a>,
}

impl Fields<'_> {
    fn value(&self, name: &str) -> Option<Value<'_>> {
        let mut arguments = self.arguments.iter();
        let found = arguments.find(|argument| self.item.text(argument.name) == name);
        found.map(|argument| argument.value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.unsigned()
    }

    fn status(&self, name: &str) -> Option<i32> {
        match self.value(name)? {
            Value::Int32(status) => Some(status),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Value::String(text) => Some(self.item.text(text).into_owned()),
            _ => None,
        }
    }

    fn trace(&self) -> Option<TraceId> {
        self.number("trace")?.try_into().ok().map(TraceId)
    }

    fn space(&self) -> Option<SpaceId> {
        self.number("space")?.try_into().ok().map(SpaceId)
    }

    fn mapping(&self) -> Option<Mapping> {
        Some(Mapping {
            address: self.number("address")?,
            size: self.number("size")?,
            offset: self.number("offset")?,
            path: self.text("path")?,
            build_id: bytes(&self.text("build id")?).filter(|id| !id.is_empty()),
        })
    }

    fn end(&self) -> ThreadEnd {
        let exited = self.status("exited").map(ThreadEnd::Exited);
        let killed = || self.status("killed").map(ThreadEnd::Killed);
        exited.or_else(killed).unwrap_or(ThreadEnd::Detached)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}
