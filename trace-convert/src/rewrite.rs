//! Records of one archive, made ready for another one.
//!
//! An index means something in its own archive only: what a [`Writer`] is given
//! has its strings and threads inline. A reference that leads nowhere still leads
//! nowhere there.

use std::io::Write;

use trace_format::layout::{MAX_ARGUMENTS, MAX_THREAD_INDEX};
use trace_format::{
    Argument, Arguments, Event, Item, Process, Record, ReferenceMut, Text, Thread, Value,
    WriteError, Writer,
};

use crate::slice::is_anchor;
use crate::ConvertError;
use trace_analyze::arguments;
use trace_analyze::Loss;

/// Room for the arguments of a record.
pub(crate) type Room<'a> = [Argument<'a>];

/// Returns room for the arguments of a record. Most records have none, and need
/// none: to make it takes its time.
pub(crate) fn room<'a>() -> [Argument<'a>; MAX_ARGUMENTS] {
    [Argument { name: Text::EMPTY, value: Value::Null }; MAX_ARGUMENTS]
}

/// Tells whether a record has arguments, for which [`room`] is needed.
pub(crate) fn needs_room(record: &Record<'_>) -> bool {
    record.arguments().iter().next().is_some()
}

/// Returns the record of `item` as [`inline`] does, with the ticks that are
/// arguments of the tracing system's own events as nanoseconds, and the koids
/// that are arguments as `koid` says.
pub(crate) fn with_nanos<'a>(
    item: &Item<'a>,
    room: &'a mut Room<'a>,
    nanos: impl Fn(u64) -> u64,
    koid: impl Fn(u64) -> u64,
) -> Record<'a> {
    let has_ticks = matches!(&item.record, Record::Event(event) if tells_ticks(item, event));
    inline(item, room, |argument| {
        if let (true, Text::Inline(b"ticks" | b"from" | b"to")) = (has_ticks, argument.name) {
            if let Some(ticks) = arguments::unsigned(item, argument.value) {
                argument.value = Value::Uint64(nanos(ticks));
            }
        }
        if let Value::Koid(of) = &mut argument.value {
            *of = koid(*of);
        }
    })
}

/// Tells whether arguments of an event are ticks.
#[inline]
pub(crate) fn tells_ticks(item: &Item<'_>, event: &Event<'_>) -> bool {
    Loss::of(item, event).is_some() || is_anchor(item, event)
}

/// Returns the record of `item` with its strings and threads inline. Its
/// arguments are put in `room`; `change` may change each.
pub(crate) fn inline<'a>(
    item: &Item<'a>,
    room: &'a mut Room<'a>,
    mut change: impl FnMut(&mut Argument<'a>),
) -> Record<'a> {
    let mut record = item.record;
    let mut count = 0;
    for (place, argument) in room.iter_mut().zip(&record.arguments()) {
        *place = Argument { name: text(item, argument.name), value: value(item, argument.value) };
        change(place);
        count += 1;
    }
    let arguments: Arguments<'a> = room.get(..count).unwrap_or_default().into();
    if let Some(place) = record.arguments_mut() {
        *place = arguments;
    }
    record.references_mut(|reference| match reference {
        ReferenceMut::Text(place) => *place = text(item, *place),
        ReferenceMut::Thread(place) => *place = thread(item, *place),
        ReferenceMut::Process(place) => *place = process(item, *place),
    });
    record
}

fn text<'a>(item: &Item<'a>, text: Text<'a>) -> Text<'a> {
    match text {
        Text::Inline(_) => text,
        Text::Indexed(index) => item.provider.string(index).map_or(Text::UNKNOWN, Text::from),
    }
}

fn value<'a>(item: &Item<'a>, value: Value<'a>) -> Value<'a> {
    match value {
        Value::String(string) => Value::String(text(item, string)),
        value => value,
    }
}

fn thread(item: &Item<'_>, thread: Thread) -> Thread {
    match thread {
        Thread::Inline(_) => thread,
        Thread::Indexed(index) => {
            item.provider.thread(index).map_or(Thread::UNKNOWN, Thread::Inline)
        }
    }
}

fn process(item: &Item<'_>, process: Process) -> Process {
    match process {
        Process::Inline(_) => process,
        Process::Indexed(index) => match item.provider.thread(index) {
            Some(koids) => Process::Inline(koids.process),
            None => Process::Indexed(MAX_THREAD_INDEX),
        },
    }
}

/// Returns the time of a record that has one, in ticks.
pub(crate) fn ticks(record: &Record<'_>) -> Option<u64> {
    let mut record = *record;
    let first = record.times().next().map(|ticks| *ticks);
    first
}

/// Writes a record; tells whether it fits the format.
pub(crate) fn write<W: Write>(
    writer: &mut Writer<W>,
    record: &Record<'_>,
) -> Result<bool, ConvertError> {
    written(writer.record(record))
}

/// Tells whether something was written; passes errors of the output on.
pub(crate) fn written(result: Result<(), WriteError>) -> Result<bool, ConvertError> {
    match result {
        Ok(()) => Ok(true),
        Err(WriteError::Io(error)) => Err(ConvertError::Write(error)),
        Err(_) => Ok(false),
    }
}
