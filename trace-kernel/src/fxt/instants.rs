//! Events without a length.

use trace_format::layout::{cut_str, InstantScope, MAX_ARGUMENTS, MAX_STRING_BYTES};
use trace_format::notes::{CATEGORY, RECORDS_DROPPED};
use trace_format::{
    Argument, Arguments, Event, EventKind, Log, Record, Text, Thread, ThreadKoids, Value,
    WriteError,
};

use super::labels::Label;
use super::list::List;
use super::sink::RecordSink;

use crate::byte_order::ByteOrder;
use crate::event::Event as KernelEvent;
use crate::format::{self, EventFormat};
use crate::marker::Marker;

/// An instant on a thread's track.
pub(super) const INSTANT: EventKind = EventKind::Instant { scope: Some(InstantScope::Thread) };

/// Writes an event, without its arguments if they make the record too long.
///
/// # Errors
///
/// Writing failed.
pub fn write_event<S: RecordSink>(writer: &mut S, event: Event<'_>) -> Result<(), WriteError> {
    match writer.record(&event.into()) {
        Err(WriteError::Encode(_)) => {
            writer.record(&Record::Event(Event { arguments: Arguments::NONE, ..event }))
        }
        written => written,
    }
}

/// Returns an event of a thread.
pub(super) fn event<'a>(
    ticks: u64,
    thread: ThreadKoids,
    (category, name): (Text<'a>, Text<'a>),
    kind: EventKind,
    arguments: &'a [Argument<'a>],
) -> Event<'a> {
    let (thread, arguments) = (Thread::Inline(thread), arguments.into());
    Event { ticks, thread, category, name, kind, arguments }
}

/// Reports a number of records that are missing at a thread between two times, with the reason.
///
/// # Errors
///
/// Writing failed.
pub fn write_gap<S: RecordSink>(
    writer: &mut S,
    place: ThreadKoids,
    (number, reason): (u64, &str),
    (from, to): (u64, u64),
) -> Result<(), WriteError> {
    let arguments = [
        Argument::new("reason", Value::String(reason.into())),
        Argument::new("number", Value::Uint64(number)),
        Argument::new("from", Value::Uint64(from)),
        Argument::new("to", Value::Uint64(to)),
    ];
    let labels = inline((CATEGORY, RECORDS_DROPPED));
    write_event(writer, event(to, place, labels, INSTANT, &arguments))
}

/// Writes a line of the kernel's log.
pub(super) fn write_log<S: RecordSink>(
    writer: &mut S,
    (ticks, thread): (u64, ThreadKoids),
    line: &str,
) -> Result<(), WriteError> {
    let (thread, message) = (Thread::Inline(thread), cut_str(line, MAX_STRING_BYTES).as_bytes());
    writer.record(&Log { ticks, thread, message }.into())
}

/// Returns category and name of an event as inline texts.
pub(super) fn inline<'a>((category, name): (&'a str, &'a str)) -> (Text<'a>, Text<'a>) {
    let text = |text| cut_str(text, MAX_STRING_BYTES).into();
    (text(category), text(name))
}

/// Writes an instant with the fields of an event.
pub(super) fn write_other<S: RecordSink>(
    writer: &mut S,
    (ticks, thread): (u64, ThreadKoids),
    (category, format): (&str, &EventFormat),
    payload: &[u8],
    order: ByteOrder,
) -> Result<(), WriteError> {
    let values = format.values(payload, order).take(MAX_ARGUMENTS);
    let texts: Vec<_> = values.map(|(name, value)| (name, value, hex(value))).collect();
    let arguments: Vec<_> =
        texts.iter().map(|(name, value, hex)| argument(name, value, hex)).collect();
    let labels = inline((category, &format.name));
    write_event(writer, event(ticks, thread, labels, INSTANT, &arguments))
}

fn argument<'a>(name: &'a str, value: &format::Value<'a>, hex: &'a str) -> Argument<'a> {
    let value = match *value {
        format::Value::Signed(number) => match i32::try_from(number) {
            Ok(number) => Value::Int32(number),
            Err(_) => Value::Int64(number),
        },
        format::Value::Unsigned(number) => match u32::try_from(number) {
            Ok(number) => Value::Uint32(number),
            Err(_) => Value::Uint64(number),
        },
        format::Value::Pointer(address) => Value::Pointer(address),
        format::Value::Text(text) => Value::String(cut_str(text, MAX_STRING_BYTES).into()),
        format::Value::Bytes(_) => Value::String(cut_str(hex, MAX_STRING_BYTES).into()),
    };
    Argument::new(name, value)
}

/// Returns the digits of bytes, in their order in memory; nothing for other values.
fn hex(value: format::Value<'_>) -> String {
    match value {
        format::Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        _ => String::new(),
    }
}

/// Returns the arguments of an event without a length.
pub(super) fn arguments<'a, S: RecordSink>(writer: &mut S, event: &KernelEvent<'a>) -> List<'a> {
    let mut list = List::new();
    let mut push = |label, value| list.push(writer.label(label), value);
    match *event {
        KernelEvent::Migrate { from, to, .. } => {
            push(Label::From, Value::Uint32(from.into()));
            push(Label::To, Value::Uint32(to.into()));
        }
        KernelEvent::Fork { child, .. } => push(Label::Child, Value::Koid(child)),
        KernelEvent::Exec { file, .. } if !file.is_empty() => {
            push(Label::File, Value::String(file.into()));
        }
        KernelEvent::Rename { name, .. } => push(Label::Name, Value::String(name.into())),
        KernelEvent::Unknown { id } => push(Label::Id, Value::Uint32(id.into())),
        _ => {}
    }
    list
}

/// Writes a text that a program wrote to `trace_marker`.
pub(super) fn marker<S: RecordSink>(
    writer: &mut S,
    ticks: u64,
    koids: ThreadKoids,
    text: &str,
) -> Result<(), WriteError> {
    let Some(Marker { process, name, kind, value }) = Marker::parse(text) else {
        let Some(category) = writer.category(Label::Atrace) else { return Ok(()) };
        let labels = (category, writer.label(Label::Marker));
        let text = [Argument::new(writer.label(Label::Text), Value::String(text.into()))];
        return write_event(writer, event(ticks, koids, labels, INSTANT, &text));
    };
    let koids = ThreadKoids::new(process.unwrap_or(koids.process), koids.thread);
    // An end has no category, as its begin has one.
    let category = if kind == EventKind::DurationEnd { "" } else { Label::Atrace.text() };
    let labels = inline((category, name));
    write_event(writer, event(ticks, koids, labels, kind, value.as_slice()))
}
