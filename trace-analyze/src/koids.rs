//! The processes and threads that records name.

use trace_format::layout::ObjectType;
use trace_format::{Event, Record, ReferenceMut, Thread, ThreadKoids};

/// Returns the process and the thread that a record introduces, or names inline.
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

/// Changes the koids of processes and threads that a record names inline.
pub fn change(record: &mut Record<'_>, change: impl Fn(u64) -> u64) {
    use trace_format::Process::Inline;
    record.references_mut(|reference| match reference {
        ReferenceMut::Thread(Thread::Inline(koids)) => {
            *koids = ThreadKoids::new(change(koids.process), change(koids.thread));
        }
        ReferenceMut::Process(Inline(koid)) => *koid = change(*koid),
        _ => {}
    });
    match record {
        Record::KernelObject(object) => object.koid = change(object.koid),
        Record::ContextSwitch(switch) => {
            switch.outgoing_thread = change(switch.outgoing_thread);
            switch.incoming_thread = change(switch.incoming_thread);
        }
        Record::ThreadWakeup(wakeup) => wakeup.thread = change(wakeup.thread),
        _ => {}
    }
}
