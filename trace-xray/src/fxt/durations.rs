//! Calls as durations.

use std::io::Write;

use trace_format::layout::MAX_ARGUMENTS;
use trace_format::{
    Argument, Arguments, Event, EventKind, Record, Thread, ThreadKoids, Value, WriteError, Writer,
};

use super::marks::Ending;
use super::CATEGORY;
use crate::map::Names;
use crate::record::FunctionId;

/// The names of call arguments.
const ARGUMENTS: [&str; MAX_ARGUMENTS] = [
    "arg0", "arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "arg9", "arg10",
    "arg11", "arg12", "arg13", "arg14",
];

/// An entry with arguments.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: (u64, ThreadKoids),
    pub(super) function: FunctionId,
    pub(super) arguments: Vec<u64>,
}

pub(super) fn begin<W: Write>(
    writer: &mut Writer<W>,
    names: &mut Names,
    entry: &Entry,
) -> Result<(), WriteError> {
    let values = entry.arguments.iter().map(|value| Value::Uint64(*value));
    let arguments: Vec<_> =
        ARGUMENTS.into_iter().zip(values).map(|(name, value)| Argument::new(name, value)).collect();
    let name = names.get(entry.function);
    writer.record(&event(entry.at, (CATEGORY, &name), EventKind::DurationBegin, &arguments))
}

pub(super) fn end<W: Write>(
    writer: &mut Writer<W>,
    names: &mut Names,
    at: (u64, ThreadKoids),
    function: FunctionId,
    ending: Ending,
) -> Result<(), WriteError> {
    let name = names.get(function);
    let labels = (CATEGORY, &*name);
    writer.record(&event(at, labels, EventKind::DurationEnd, ending.argument().as_slice()))
}

pub(super) fn event<'a>(
    (ticks, thread): (u64, ThreadKoids),
    (category, name): (&'a str, &'a str),
    kind: EventKind,
    arguments: &'a [Argument<'a>],
) -> Record<'a> {
    let (thread, category, name) = (Thread::Inline(thread), category.into(), name.into());
    let arguments = Arguments::from(arguments);
    Record::Event(Event { ticks, thread, category, name, kind, arguments })
}
