//! The processes and threads that records introduce.

use trace_format::layout::ObjectType;
use trace_format::{Event, Record, Thread, ThreadKoids};

/// Returns the process and the thread that a record introduces or has inline.
pub fn named(record: &Record<'_>) -> (Option<u64>, Option<u64>) {
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
