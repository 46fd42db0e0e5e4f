//! Tests of the line for each record type.

use trace_format::layout::{BlobType, InstantScope, ObjectType, ProviderEvent, ThreadState};
use trace_format::{
    encode, Argument, Arguments, Backtrace, Blob, ContextSwitch, EventKind, KernelObject,
    LargeBlob, LargeBlobEvent, LegacyContextSwitch, Log, Mmap, Module, Process, Reader, Record,
    Thread, ThreadWakeup, UserspaceObject, Value, Writer,
};

use super::{line, Names};
use crate::testing::{archive, event, THREAD};

fn lines(archive: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(archive);
    let mut lines = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        let mut text = String::new();
        line(&mut text, &item).unwrap();
        lines.push(text);
    }
    lines
}

/// Returns the line of a record, without its place.
fn last(record: Record<'_>) -> String {
    let lines = lines(&archive(&[record]));
    let (_, text) = lines.last().unwrap().split_once(" 1 ").unwrap();
    text.to_owned()
}

fn plain(kind: EventKind) -> String {
    last(event(kind, Arguments::NONE))
}

#[test]
fn an_archive() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(7, "app").unwrap();
    writer.initialization(1_000_000).unwrap();
    let arguments = [
        Argument::new("text", Value::String("a\n\"b\"".into())),
        Argument::new("half", Value::Double(0.5)),
    ];
    writer.record(&event(EventKind::DurationComplete { end: 1502 }, &arguments)).unwrap();
    writer.section(8).unwrap();
    writer.provider_event(7, ProviderEvent::BUFFER_FULL).unwrap();
    let expected = [
        "         0 - magic-number",
        "         8 7 provider-info 7 \"app\"",
        "        24 7 initialization 1000000 ticks/s",
        "        40 7 thread 1 12/34",
        "        64 7 string 1 \"cat\"",
        "        80 7 string 2 \"name\"",
        "        96 7 string 3 \"text\"",
        "       112 7 string 4 \"half\"",
        "       128 7 duration-complete 12/34 0.001500000s \"cat\" \"name\" 2000ns \
         {\"text\": \"a\\n\\\"b\\\"\", \"half\": 0.5}",
        "       184 8 provider-section 8",
        "       192 8 provider-event 7 buffer-full",
    ];
    assert_eq!(lines(&writer.into_inner()), expected);
}

#[test]
fn events() {
    let start = "12/34 0.000001500s \"cat\" \"name\"";
    let instant = plain(EventKind::Instant { scope: Some(InstantScope::Global) });
    assert_eq!(instant, format!("instant {start} global"));
    assert_eq!(plain(EventKind::DurationBegin), format!("duration-begin {start}"));
    assert_eq!(plain(EventKind::FlowStep { id: 42 }), format!("flow-step {start} id 42 (0x2a)"));
    let reversed = plain(EventKind::DurationComplete { end: 3 });
    assert_eq!(reversed, format!("duration-complete {start} ends before its start, at tick 3"));
}

/// An argument with the id of an operation is found by either notation, like the operation.
#[test]
fn ids_have_one_notation() {
    let arguments = [
        Argument::new("parent", Value::Uint64(42)),
        Argument::new("count", Value::Uint64(42)),
        Argument::new("task", Value::String("42".into())),
    ];
    let begin = last(event(EventKind::AsyncBegin { id: 43 }, &arguments));
    let expected = r#"id 43 (0x2b) {"parent": 42 (0x2a), "count": 42, "task": "42"}"#;
    assert!(begin.ends_with(expected), "{begin}");
}

#[test]
fn labels_and_blobs() {
    let arguments = [Argument::new("process", Value::Koid(12))];
    let (object_type, arguments) = (ObjectType::THREAD, (&arguments).into());
    let thread = KernelObject { object_type, koid: 34, name: "main".into(), arguments };
    assert_eq!(last(thread.into()), r##"kernel-object thread #34 "main" {"process": #12}"##);
    let object = UserspaceObject {
        process: Process::Inline(12),
        pointer: 255,
        name: "View".into(),
        arguments: Arguments::NONE,
    };
    assert_eq!(last(object.into()), r#"userspace-object process 12 0xff "View""#);
    let blob = Blob { name: "b".into(), blob_type: BlobType(9), payload: &[1, 2] };
    assert_eq!(last(blob.into()), r#"blob "b" type 9 2 bytes"#);
    let event = LargeBlobEvent { ticks: 1, thread: Thread::Inline(THREAD), arguments };
    let (category, name) = ("cat".into(), "name".into());
    let large = LargeBlob { category, name, event: Some(event), payload: &[1] };
    let expected = r##"large-blob 12/34 0.000000001s "cat" "name" 1 bytes {"process": #12}"##;
    assert_eq!(last(large.into()), expected);
}

#[test]
fn logs_and_scheduling() {
    let thread = Thread::Inline(THREAD);
    let log = Log { ticks: 1, thread, message: b"ready" };
    assert_eq!(last(log.into()), "log 12/34 0.000000001s \"ready\"");
    let switch = ContextSwitch {
        ticks: 1,
        cpu: 300,
        outgoing_state: ThreadState::BLOCKED,
        outgoing_thread: 5,
        incoming_thread: 6,
        arguments: Arguments::NONE,
    };
    assert_eq!(last(switch.into()), "context-switch cpu 300 0.000000001s from #5 blocked to #6");
    let legacy = LegacyContextSwitch {
        ticks: 1,
        cpu: 3,
        outgoing_state: ThreadState(9),
        outgoing: thread,
        incoming: thread,
        outgoing_priority: 1,
        incoming_priority: 2,
    };
    let expected =
        "context-switch cpu 3 0.000000001s from 12/34 state 9 priority 1 to 12/34 priority 2";
    assert_eq!(last(legacy.into()), expected);
    let wakeup = ThreadWakeup { ticks: 1, cpu: 3, thread: 5, arguments: Arguments::NONE };
    assert_eq!(last(wakeup.into()), "thread-wakeup cpu 3 0.000000001s #5");
}

#[test]
fn the_profiler() {
    let process = Process::Inline(12);
    let module = Module { ticks: 1, process, module_id: 1, name: b"libc", build_id: &[10, 1] };
    let expected = "module process 12 0.000000001s module 1 \"libc\" build id 0a01";
    assert_eq!(last(module.into()), expected);
    let (start, length, module_address) = (16, 32, 48);
    let mmap = Mmap { ticks: 1, process, module_id: 1, flags: 5, start, length, module_address };
    let expected = "mmap process 12 0.000000001s module 1 flags 5 start 0x10 length 0x20 \
                    module address 0x30";
    assert_eq!(last(mmap.into()), expected);
    let frames = [1, 2][..].into();
    let backtrace = Backtrace { ticks: 1, thread: Thread::Inline(THREAD), frames };
    assert_eq!(last(backtrace.into()), "backtrace 12/34 0.000000001s 0x1 0x2");
}

#[test]
fn arguments_of_unknown_types() {
    let mut archive = archive(&[]);
    // An instant with an unknown argument "k", and one that is null.
    let words = [0x8001_0000_0120_0074, 7, 0x63, 0x1234_8001_002d, 0x6b, 0x0000_8001_0020, 0x6e];
    archive.extend(encode::to_bytes(&words));
    let lines = lines(&archive);
    let expected = r#""" "c" {"n": null, "k": <type 13, 0x1234>}"#;
    assert!(lines.last().unwrap().ends_with(expected), "{lines:?}");
}

#[test]
fn unknown_records() {
    let mut input = archive(&[]);
    input.extend_from_slice(&0x1e_u64.to_le_bytes());
    let lines = lines(&input);
    let expected = "1 unknown type 14 header 0x000000000000001e and 0 bytes";
    assert!(lines.last().unwrap().ends_with(expected), "{lines:?}");
}

#[test]
fn arguments_are_shown_with_the_names_of_their_objects() {
    let arguments = [
        Argument::new("view", Value::Pointer(0x1000)),
        Argument::new("job", Value::Koid(7)),
        Argument::new("other", Value::Pointer(0x2000)),
    ];
    let (pointer, object_type, koid) = (0x1000, ObjectType(17), 7);
    let objects = |process| -> [Record<'_>; 2] {
        let (process, name, arguments) = (Process::Inline(process), "Main".into(), Arguments::NONE);
        let kernel = KernelObject { object_type, koid, name: "root".into(), arguments };
        [UserspaceObject { process, pointer, name, arguments }.into(), kernel.into()]
    };
    let shown = |process| {
        let [view, job] = objects(process);
        let records = [view, job, event(EventKind::DurationBegin, &arguments)];
        let archive = crate::testing::archive(&records);
        let (mut reader, mut names) = (Reader::new(&archive[..]), Names::default());
        let mut line = String::new();
        while let Some(item) = reader.next().unwrap() {
            line.clear();
            super::line_with_names(&mut line, &item, &mut names).unwrap();
        }
        line.split_once(" where ").unwrap().1.to_owned()
    };
    assert_eq!(shown(12), r##"0x1000 is "Main", #7 is "root""##);
    assert_eq!(shown(13), r##"#7 is "root""##, "a pointer of another process");
}
