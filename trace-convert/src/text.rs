//! Text: a line for each record.
//!
//! ```text
//!     128 1 duration-complete 12/34 1.000000500s "net" "poll" 1500ns {"bytes": 64}
//! ```
//!
//! The columns are: the record's offset in bytes from the archive's start; the provider's id, or
//! `-` before the first provider; the record's type; process and thread; the time in seconds of the
//! provider's clock; other fields. Strings are in quotes, with escapes for characters that cannot
//! be printed: a record never takes more than one line.

mod event;
mod object;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use data_encoding::HEXLOWER;
use trace_analyze::objects::Objects;
use trace_format::layout::{argument, ThreadState};
use trace_format::{Arguments, Item, Record, Text, Thread, ThreadKoids, UnknownArgument, Value};

/// Writes `item` without a line break.
///
/// # Errors
///
/// Only what `output` returns.
pub fn line(output: &mut dyn Write, item: &Item<'_>) -> fmt::Result {
    place(output, item)?;
    match &item.record {
        Record::Metadata(metadata) => table::metadata(output, metadata),
        Record::Initialization { ticks_per_second } => {
            write!(output, "initialization {ticks_per_second} ticks/s")
        }
        Record::String { index, value } => table::string(output, *index, value),
        Record::Thread { index, koids } => table::thread(output, *index, *koids),
        Record::Event(event) => event::event(output, item, event),
        Record::Blob(blob) => object::blob(output, item, blob),
        Record::UserspaceObject(object) => object::userspace(output, item, object),
        Record::KernelObject(object) => object::kernel(output, item, object),
        Record::LegacyContextSwitch(switch) => event::legacy_context_switch(output, item, switch),
        Record::ContextSwitch(switch) => event::context_switch(output, item, switch),
        Record::ThreadWakeup(wakeup) => event::thread_wakeup(output, item, wakeup),
        Record::Log(log) => event::log(output, item, log),
        Record::Module(module) => object::module(output, item, module),
        Record::Mmap(mmap) => object::mmap(output, item, mmap),
        Record::Backtrace(backtrace) => object::backtrace(output, item, backtrace),
        Record::LargeBlob(blob) => object::large_blob(output, item, blob),
        Record::Unknown(record) => table::unknown(output, record),
    }
}

/// Writes `item` like [`line()`], and the names of the objects that its arguments refer to: `…
/// {"view": 0x1000} where 0x1000 is "Main"`.
///
/// # Errors
///
/// Only what `output` returns.
pub fn line_with_names(
    output: &mut dyn Write,
    item: &Item<'_>,
    objects: &mut Objects,
) -> fmt::Result {
    objects.note(item);
    line(output, item)?;
    // The line has the name of a thread's process already.
    if let Record::KernelObject(_) = item.record {
        return Ok(());
    }
    let mut before = " where ";
    let arguments = item.record.arguments();
    let values = arguments.iter().map(|argument| argument.value);
    for referring in values.chain(frames(&item.record)) {
        if let Some(name) = objects.name(item, referring) {
            output.write_str(before)?;
            value(output, item, referring)?;
            write!(output, " is {name:?}")?;
            before = ", ";
        }
    }
    Ok(())
}

/// Returns the frames of a backtrace.
fn frames<'a>(record: &Record<'a>) -> impl Iterator<Item = Value<'a>> {
    let frames = match record {
        Record::Backtrace(backtrace) => Some(backtrace.frames),
        _ => None,
    };
    frames.into_iter().flat_map(|frames| frames.iter().map(Value::Pointer).collect::<Vec<_>>())
}

/// Returns the name of a thread state, `None` if it is unknown.
#[must_use]
pub fn state_name(state: ThreadState) -> Option<&'static str> {
    match state {
        ThreadState::NEW => Some("new"),
        ThreadState::RUNNING => Some("running"),
        ThreadState::SUSPENDED => Some("suspended"),
        ThreadState::BLOCKED => Some("blocked"),
        ThreadState::DYING => Some("dying"),
        ThreadState::DEAD => Some("dead"),
        _ => None,
    }
}

fn place(output: &mut dyn Write, item: &Item<'_>) -> fmt::Result {
    write!(output, "{:>10} ", item.offset)?;
    match item.provider.id() {
        Some(id) => write!(output, "{id} "),
        None => write!(output, "- "),
    }
}

fn time(output: &mut dyn Write, item: &Item<'_>, ticks: u64) -> fmt::Result {
    const NANOS_PER_SECOND: u64 = 1_000_000_000;
    let nanos = item.nanos(ticks);
    write!(output, " {}.{:09}s", nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND)
}

fn thread(output: &mut dyn Write, item: &Item<'_>, thread: Thread) -> fmt::Result {
    koids(output, item.thread(thread))
}

fn koids(output: &mut dyn Write, koids: ThreadKoids) -> fmt::Result {
    write!(output, " {}/{}", koids.process, koids.thread)
}

fn text<'a>(output: &mut dyn Write, item: &Item<'a>, text: Text<'a>) -> fmt::Result {
    quoted(output, &item.text(text))
}

fn quoted(output: &mut dyn Write, text: &str) -> fmt::Result {
    write!(output, " {text:?}")
}

fn arguments<'a>(
    output: &mut dyn Write,
    item: &Item<'a>,
    arguments: &Arguments<'a>,
) -> fmt::Result {
    let mut before = " {";
    for argument in arguments {
        write!(output, "{before}{:?}: ", item.text(argument.name))?;
        value(output, item, argument.value)?;
        before = ", ";
    }
    for argument in arguments.unknown() {
        write!(output, "{before}{:?}: ", item.text(argument.name))?;
        unknown(output, &argument)?;
        before = ", ";
    }
    output.write_str(if before == ", " { "}" } else { "" })
}

/// Writes the type of an argument, its 32 bits in the header, and its payload, in base 16.
fn unknown(output: &mut dyn Write, argument: &UnknownArgument<'_>) -> fmt::Result {
    let argument_type = argument::Type::get(argument.header);
    let data = argument::Value32::get(argument.header);
    write!(output, "<type {argument_type}, {data:#x}")?;
    let before = if argument.payload.is_empty() { "" } else { ", bytes " };
    write!(output, "{before}{}>", HEXLOWER.encode_display(argument.payload))
}

fn value<'a>(output: &mut dyn Write, item: &Item<'a>, value: Value<'a>) -> fmt::Result {
    match value {
        Value::Null => write!(output, "null"),
        Value::Int32(value) => write!(output, "{value}"),
        Value::Uint32(value) => write!(output, "{value}"),
        Value::Int64(value) => write!(output, "{value}"),
        Value::Uint64(value) => write!(output, "{value}"),
        Value::Double(value) => write!(output, "{value:?}"),
        Value::String(value) => write!(output, "{:?}", item.text(value)),
        Value::Pointer(value) => write!(output, "{value:#x}"),
        Value::Koid(value) => write!(output, "#{value}"),
        Value::Bool(value) => write!(output, "{value}"),
        Value::Blob(value) => write!(output, "<{} bytes>", value.len()),
    }
}
