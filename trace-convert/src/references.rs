//! Following references so that each that leads nowhere is counted once.
//!
//! [`Item::text`] and [`Item::thread`] count whenever they are called; what is
//! here and has `peek` in its name does not.

use std::borrow::Cow;

use trace_format::layout::ObjectType;
use trace_format::reader::UNKNOWN_STRING;
use trace_format::record::Reference;
use trace_format::{
    Argument, Arguments, Event, Item, KernelObject, Record, Text, Thread, ThreadKoids, Value,
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
    item.record.references(|reference| match reference {
        // Only an index can lead nowhere.
        Reference::Text(Text::Inline(_)) => {}
        Reference::Text(text) => _ = item.text(text),
        Reference::Thread(thread) => _ = item.thread(thread),
        Reference::Process(process) => _ = item.process(process),
    });
}
