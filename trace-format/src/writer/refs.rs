//! The indices in a record.

use crate::layout::{MAX_STRING_INDEX, MAX_THREAD_INDEX};
use crate::record::{Argument, Process, Record, Text, Thread, Value};

/// Returns the first index that `record` refers to or registers, except those of unknown strings
/// and threads. Returns 0 for metadata records.
pub(super) fn first_index(record: &Record<'_>) -> Option<u16> {
    match record {
        Record::Metadata(_) => Some(0),
        Record::String { index, .. } => Some(*index),
        Record::Thread { index, .. } => Some(u16::from(*index)),
        _ => of_fields(record).or_else(|| record.arguments().iter().find_map(of_argument)),
    }
}

fn of_fields(record: &Record<'_>) -> Option<u16> {
    match record {
        Record::Event(event) => {
            let refs = of_thread(event.thread).or_else(|| of_text(event.category));
            refs.or_else(|| of_text(event.name))
        }
        Record::Blob(blob) => of_text(blob.name),
        Record::UserspaceObject(object) => {
            of_process(object.process).or_else(|| of_text(object.name))
        }
        Record::KernelObject(object) => of_text(object.name),
        Record::LegacyContextSwitch(switch) => {
            of_thread(switch.outgoing).or_else(|| of_thread(switch.incoming))
        }
        Record::Log(log) => of_thread(log.thread),
        Record::Module(module) => of_process(module.process),
        Record::Mmap(mmap) => of_process(mmap.process),
        Record::Backtrace(backtrace) => of_thread(backtrace.thread),
        Record::LargeBlob(blob) => {
            let refs = of_text(blob.category).or_else(|| of_text(blob.name));
            refs.or_else(|| blob.event.and_then(|event| of_thread(event.thread)))
        }
        _ => None,
    }
}

fn of_argument(argument: Argument<'_>) -> Option<u16> {
    of_text(argument.name).or_else(|| match argument.value {
        Value::String(text) => of_text(text),
        _ => None,
    })
}

fn of_text(text: Text<'_>) -> Option<u16> {
    match text {
        Text::Inline(_) | Text::Indexed(MAX_STRING_INDEX) => None,
        Text::Indexed(index) => Some(index),
    }
}

fn of_thread(thread: Thread) -> Option<u16> {
    match thread {
        Thread::Inline(_) | Thread::Indexed(MAX_THREAD_INDEX) => None,
        Thread::Indexed(index) => Some(u16::from(index)),
    }
}

fn of_process(process: Process) -> Option<u16> {
    match process {
        Process::Inline(_) | Process::Indexed(MAX_THREAD_INDEX) => None,
        Process::Indexed(index) => Some(u16::from(index)),
    }
}
