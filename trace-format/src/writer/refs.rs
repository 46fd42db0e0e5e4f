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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{BlobType, ObjectType, ProviderEvent, ThreadKoids, ThreadState};
    use crate::record::*;

    const NAME: Text<'static> = Text::Indexed(5);
    const THREAD: Thread = Thread::Indexed(6);
    const PROCESS: Process = Process::Indexed(7);

    fn event(thread: Thread, category: Text<'static>, name: Text<'static>) -> Record<'static> {
        let (kind, arguments) = (EventKind::DurationEnd, Arguments::NONE);
        Event { ticks: 1, thread, category, name, kind, arguments }.into()
    }

    fn switch(outgoing: Thread, incoming: Thread) -> Record<'static> {
        LegacyContextSwitch {
            ticks: 1,
            cpu: 1,
            outgoing_state: ThreadState::NEW,
            outgoing,
            incoming,
            outgoing_priority: 1,
            incoming_priority: 1,
        }
        .into()
    }

    fn large(thread: Thread, category: Text<'static>, name: Text<'static>) -> Record<'static> {
        let event = LargeBlobEvent { ticks: 1, thread, arguments: Arguments::NONE };
        LargeBlob { category, name, event: Some(event), payload: b"" }.into()
    }

    fn object(process: Process, name: Text<'static>) -> Record<'static> {
        UserspaceObject { process, pointer: 1, name, arguments: Arguments::NONE }.into()
    }

    fn module(process: Process) -> Record<'static> {
        Module { ticks: 1, process, module_id: 1, name: b"", build_id: b"" }.into()
    }

    fn mmap(process: Process) -> Record<'static> {
        let (module_id, flags, start, length, module_address) = (1, 1, 1, 1, 1);
        Mmap { ticks: 1, process, module_id, flags, start, length, module_address }.into()
    }

    fn wakeup<'a>(arguments: &'a [Argument<'a>]) -> Record<'a> {
        ThreadWakeup { ticks: 1, cpu: 1, thread: 1, arguments: arguments.into() }.into()
    }

    #[test]
    fn indices_of_fields() {
        let (no_name, no_thread) = (Text::UNKNOWN, Thread::UNKNOWN);
        let blob = |name| Blob { name, blob_type: BlobType::DATA, payload: b"" }.into();
        let kernel_object = |name| {
            let (object_type, koid) = (ObjectType::THREAD, 1);
            KernelObject { object_type, koid, name, arguments: Arguments::NONE }.into()
        };
        let log = |thread| Log { ticks: 1, thread, message: b"" }.into();
        let backtrace = |thread| Backtrace { ticks: 1, thread, frames: [][..].into() }.into();
        let table: [(Record<'_>, u16); 17] = [
            (event(THREAD, no_name, no_name), 6),
            (event(no_thread, NAME, no_name), 5),
            (event(no_thread, no_name, NAME), 5),
            (blob(NAME), 5),
            (object(PROCESS, no_name), 7),
            (object(Process::Inline(9), NAME), 5),
            (kernel_object(NAME), 5),
            (switch(THREAD, no_thread), 6),
            (switch(no_thread, THREAD), 6),
            (log(THREAD), 6),
            (module(PROCESS), 7),
            (mmap(PROCESS), 7),
            (backtrace(THREAD), 6),
            (large(THREAD, no_name, no_name), 6),
            (large(no_thread, NAME, no_name), 5),
            (large(no_thread, no_name, NAME), 5),
            (Record::Metadata(Metadata::MagicNumber), 0),
        ];
        for (record, index) in table {
            assert_eq!(first_index(&record), Some(index), "{record:?}");
        }
    }

    #[test]
    fn indices_of_arguments_and_registrations() {
        let by_name = [Argument::new("x", Value::Null), Argument::new(NAME, Value::Null)];
        assert_eq!(first_index(&wakeup(&by_name)), Some(5));
        let by_value = [Argument::new("x", Value::String(NAME))];
        assert_eq!(first_index(&wakeup(&by_value)), Some(5));
        assert_eq!(first_index(&Record::String { index: 8, value: b"" }), Some(8));
        let koids = ThreadKoids::UNKNOWN;
        assert_eq!(first_index(&Record::Thread { index: 9, koids }), Some(9));
        let id_event = Metadata::ProviderEvent { id: 1, event: ProviderEvent::BUFFER_FULL };
        assert_eq!(first_index(&id_event.into()), Some(0));
    }

    #[test]
    fn inline_and_unknown_references_have_no_index() {
        let unknown = [Argument::new(Text::UNKNOWN, Value::String(Text::UNKNOWN))];
        let inline = [Argument::new("x", Value::String("y".into()))];
        let thread = Thread::Inline(ThreadKoids::new(1, 2));
        for record in [
            event(thread, "c".into(), "n".into()),
            large(thread, Text::UNKNOWN, Text::EMPTY),
            object(Process::Inline(1), "n".into()),
            switch(thread, Thread::UNKNOWN),
            module(Process::Indexed(MAX_THREAD_INDEX)),
            mmap(Process::Inline(1)),
            wakeup(&unknown),
            wakeup(&inline),
        ] {
            assert_eq!(first_index(&record), None, "{record:?}");
        }
    }
}
