//! Following references so that each that leads nowhere is counted once.
//!
//! [`Item::text`] and [`Item::thread`] count whenever they are called; what is
//! here and has `peek` in its name does not.

use std::borrow::Cow;

use trace_format::layout::ObjectType;
use trace_format::reader::UNKNOWN_STRING;
use trace_format::{
    Argument, Arguments, Event, Item, KernelObject, Process, Record, Text, Thread, ThreadKoids,
    Value,
};

/// Returns a string of `item`'s record as [`Item::text`] does.
#[inline]
pub(crate) fn peek_text<'a>(item: &Item<'a>, text: Text<'a>) -> Cow<'a, str> {
    match text {
        Text::Inline(_) => item.text(text),
        Text::Indexed(index) => item.provider.string(index).unwrap_or(UNKNOWN_STRING).into(),
    }
}

/// Returns a thread of `item`'s record as [`Item::thread`] does.
#[inline]
pub(crate) fn peek_thread(item: &Item<'_>, thread: Thread) -> ThreadKoids {
    match thread {
        Thread::Inline(koids) => koids,
        Thread::Indexed(index) => item.provider.thread(index).unwrap_or(ThreadKoids::UNKNOWN),
    }
}

/// Returns the values of the arguments with this name.
pub(crate) fn peek_named<'a>(
    item: &'a Item<'_>,
    arguments: &Arguments<'a>,
    name: &'a str,
) -> impl Iterator<Item = Value<'a>> + 'a {
    let named = arguments.iter().filter(move |argument| peek_text(item, argument.name) == name);
    named.map(|argument| argument.value)
}

/// Returns the argument with this name that is an integer, and not negative.
pub(crate) fn peek_unsigned<'a>(
    item: &'a Item<'_>,
    arguments: &Arguments<'a>,
    name: &'a str,
) -> Option<u64> {
    peek_named(item, arguments, name).find_map(|value| unsigned(item, value))
}

/// Returns an integer that is not negative. An archive that was JSON has those
/// beyond 2^53 as strings.
pub(crate) fn unsigned<'a>(item: &Item<'a>, value: Value<'a>) -> Option<u64> {
    match value {
        Value::String(text) => peek_text(item, text).parse().ok(),
        value => value.unsigned(),
    }
}

/// Returns the process that a kernel object, if it is a thread, says it is of.
pub(crate) fn process_of<'a>(item: &Item<'a>, object: &KernelObject<'a>) -> Option<u64> {
    object.arguments.iter().find_map(|argument| said_process(item, argument))
}

/// Returns the process that an argument says a thread is of.
pub(crate) fn said_process<'a>(item: &Item<'a>, argument: Argument<'a>) -> Option<u64> {
    match argument.value {
        Value::Koid(koid) if peek_text(item, argument.name) == "process" => Some(koid),
        _ => None,
    }
}

/// Returns the process and the thread that a record names.
pub(crate) fn who(record: &Record<'_>) -> (Option<u64>, Option<u64>) {
    let of = |koids: ThreadKoids| (Some(koids.process), Some(koids.thread));
    match record {
        Record::Thread { koids, .. } => of(*koids),
        Record::Event(Event { thread: Thread::Inline(koids), .. }) => of(*koids),
        Record::Log(log) => match log.thread {
            Thread::Inline(koids) => of(koids),
            Thread::Indexed(_) => (None, None),
        },
        Record::KernelObject(object) if object.object_type == ObjectType::PROCESS => {
            (Some(object.koid), None)
        }
        Record::KernelObject(object) if object.object_type == ObjectType::THREAD => {
            (None, Some(object.koid))
        }
        _ => (None, None),
    }
}

/// Resolves every string and thread of `item`'s record once.
#[inline]
pub(crate) fn resolve(item: &Item<'_>) {
    match &item.record {
        Record::Event(event) => {
            thread(item, event.thread);
            text(item, event.category);
            text(item, event.name);
        }
        Record::Blob(blob) => text(item, blob.name),
        Record::UserspaceObject(object) => {
            process(item, object.process);
            text(item, object.name);
        }
        Record::KernelObject(object) => text(item, object.name),
        Record::LegacyContextSwitch(switch) => {
            thread(item, switch.outgoing);
            thread(item, switch.incoming);
        }
        Record::Log(log) => thread(item, log.thread),
        Record::Module(module) => process(item, module.process),
        Record::Mmap(mmap) => process(item, mmap.process),
        Record::Backtrace(backtrace) => thread(item, backtrace.thread),
        Record::LargeBlob(blob) => {
            text(item, blob.category);
            text(item, blob.name);
            if let Some(event) = &blob.event {
                thread(item, event.thread);
            }
        }
        _ => {}
    }
    arguments(item);
}

fn arguments(item: &Item<'_>) {
    for argument in &item.record.arguments() {
        text(item, argument.name);
        if let Value::String(value) = argument.value {
            text(item, value);
        }
    }
}

/// Only an index can lead nowhere.
fn text<'a>(item: &Item<'a>, text: Text<'a>) {
    if let Text::Indexed(_) = text {
        let _ = item.text(text);
    }
}

fn thread(item: &Item<'_>, thread: Thread) {
    let _ = item.thread(thread);
}

fn process(item: &Item<'_>, process: Process) {
    let _ = item.process(process);
}
