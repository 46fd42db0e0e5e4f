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

mod names;
mod record;
#[cfg(test)]
mod tests;

use std::fmt::{self, Display, Write};

use data_encoding::HEXLOWER;
use trace_analyze::arguments::is_operation_id;
use trace_format::layout::{argument, ThreadState};
use trace_format::{Item, Record, ThreadKoids, UnknownArgument, Value};

pub use names::Names;

/// Writes `item` without a line break.
///
/// # Errors
///
/// Only what `output` returns.
pub fn line(output: &mut dyn Write, item: &Item<'_>) -> fmt::Result {
    match item.provider.id() {
        Some(id) => write!(output, "{:>10} {id} ", item.offset)?,
        None => write!(output, "{:>10} - ", item.offset)?,
    }
    record::record(output, item)
}

/// Writes `item` like [`line()`], and the names of the objects and functions that it refers to: `…
/// {"view": 0x1000} where 0x1000 is "Main"`. `names` gets each record of the archive.
///
/// # Errors
///
/// Only what `output` returns.
pub fn line_with_names(output: &mut dyn Write, item: &Item<'_>, names: &mut Names) -> fmt::Result {
    names.note(item);
    line(output, item)?;
    // The line has the name of a thread's process already.
    if let Record::KernelObject(_) = item.record {
        return Ok(());
    }
    let mut before = " where ";
    let arguments = item.record.arguments();
    for argument in &arguments {
        if let Some(name) = names.of_object(item, argument.value) {
            write!(output, "{before}{} is {name:?}", value(item, argument.value))?;
            before = ", ";
        }
    }
    if let Record::Backtrace(backtrace) = &item.record {
        for (address, name) in names.of_frames(item, backtrace) {
            write!(output, "{before}{address:#x} is {name}")?;
            before = ", ";
        }
    }
    Ok(())
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

/// Returns a field that `write` writes.
fn field(write: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result) -> impl Display {
    struct Field<F>(F);
    impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> Display for Field<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }
    Field(write)
}

fn koids(koids: ThreadKoids) -> impl Display {
    field(move |f| write!(f, "{}/{}", koids.process, koids.thread))
}

fn time(nanos: u64) -> impl Display {
    let (seconds, nanos) = seconds_and_nanos(nanos);
    field(move |f| write!(f, "{seconds}.{nanos:09}s"))
}

fn seconds_and_nanos(nanos: u64) -> (u64, u64) {
    const NANOS_PER_SECOND: u64 = 1_000_000_000;
    (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND)
}

fn state(state: ThreadState) -> impl Display {
    field(move |f| match state_name(state) {
        Some(name) => f.write_str(name),
        None => write!(f, "state {}", state.bits()),
    })
}

/// Returns the arguments of a record, after a blank; nothing if there are none.
fn arguments<'a>(item: &'a Item<'_>) -> impl Display + 'a {
    field(move |f| {
        let arguments = item.record.arguments();
        let mut before = " {";
        for argument in &arguments {
            let (name, text) = (item.text(argument.name), value(item, argument.value));
            write!(f, "{before}{name:?}: {text}")?;
            match argument.value {
                Value::Uint64(id) if is_operation_id(&name) => write!(f, " ({id:#x})")?,
                _ => {}
            }
            before = ", ";
        }
        for argument in arguments.unknown() {
            write!(f, "{before}{:?}: {}", item.text(argument.name), unknown(&argument))?;
            before = ", ";
        }
        f.write_str(if before == ", " { "}" } else { "" })
    })
}

/// Returns the type of an argument, its 32 bits in the header, and its payload, in base 16.
fn unknown<'a>(argument: &'a UnknownArgument<'_>) -> impl Display + 'a {
    field(|f| {
        let argument_type = argument::Type::get(argument.header);
        let data = argument::Value32::get(argument.header);
        let before = if argument.payload.is_empty() { "" } else { ", bytes " };
        write!(f, "<type {argument_type}, {data:#x}{before}")?;
        write!(f, "{}>", HEXLOWER.encode_display(argument.payload))
    })
}

fn value<'a>(item: &'a Item<'_>, value: Value<'a>) -> impl Display + 'a {
    field(move |f| match value {
        Value::Null => f.write_str("null"),
        Value::Int32(value) => write!(f, "{value}"),
        Value::Uint32(value) => write!(f, "{value}"),
        Value::Int64(value) => write!(f, "{value}"),
        Value::Uint64(value) => write!(f, "{value}"),
        Value::Double(value) => write!(f, "{value:?}"),
        Value::String(value) => write!(f, "{:?}", item.text(value)),
        Value::Pointer(value) => write!(f, "{value:#x}"),
        Value::Koid(value) => write!(f, "#{value}"),
        Value::Bool(value) => write!(f, "{value}"),
        Value::Blob(value) => write!(f, "<{} bytes>", value.len()),
    })
}
