//! Each type of record, encoded and decoded. The expected words are written by hand from the
//! specification.

use trace_format::layout::{BlobType, InstantScope, ObjectType, ProviderEvent, ThreadState};
use trace_format::{
    decode, encode, Argument, Arguments, Backtrace, Blob, ContextSwitch, Event, EventKind, Frames,
    KernelObject, LargeBlob, LargeBlobEvent, LegacyContextSwitch, Log, Metadata, Mmap, Module,
    Process, Record, Text, Thread, ThreadKoids, ThreadWakeup, UnknownRecord, UserspaceObject,
    Value,
};

const ABC: u64 = 0x0063_6261;

#[track_caller]
fn check<'a>(record: impl Into<Record<'a>>, words: &[u64]) {
    let record = record.into();
    let mut encoded: Vec<u64> = Vec::new();
    encode::append(&mut encoded, &record).unwrap();
    assert_eq!(encoded, words, "{encoded:#x?} for {record:?}");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(encode::to_bytes(words), bytes);
    assert_eq!(decode::record(&bytes), Ok(record));
}

fn koids() -> ThreadKoids {
    ThreadKoids::new(0x10, 0x20)
}

fn event<'a>(kind: EventKind) -> Event<'a> {
    Event {
        ticks: 0x64,
        thread: Thread::Indexed(1),
        category: Text::Indexed(2),
        name: Text::Indexed(3),
        kind,
        arguments: Arguments::NONE,
    }
}

#[test]
fn metadata() {
    check(Metadata::ProviderInfo { id: 7, name: b"abc" }, &[0x0030_0000_0071_0020, ABC]);
    check(Metadata::ProviderSection { id: 0xffff_ffff }, &[0x000f_ffff_fff2_0010]);
    let event = ProviderEvent::BUFFER_FULL;
    check(Metadata::ProviderEvent { id: 1, event }, &[0x0000_0000_0013_0010]);
    check(Metadata::MagicNumber, &[0x0016_5478_4604_0010]);
}

#[test]
fn initialization_string_thread() {
    let ticks_per_second = 24_000_000;
    check(Record::Initialization { ticks_per_second }, &[0x0021, 0x016e_3600]);
    check(Record::String { index: 0x7fff, value: b"abc" }, &[0x0000_0003_7fff_0022, ABC]);
    check(
        Record::String { index: 1, value: b"abcdefgh" },
        &[0x0000_0008_0001_0022, 0x6867_6665_6463_6261],
    );
    check(Record::Thread { index: 255, koids: koids() }, &[0x0000_0000_00ff_0033, 0x10, 0x20]);
}

#[test]
fn instant_with_and_without_scope() {
    let scope = Some(InstantScope::Global);
    check(event(EventKind::Instant { scope }), &[0x0003_0002_0100_0034, 0x64, 2]);
    check(event(EventKind::Instant { scope: None }), &[0x0003_0002_0100_0024, 0x64]);
}

#[test]
fn counter() {
    let arguments = [Argument::new(Text::Indexed(4), Value::Int32(-1))];
    let counter = Event { arguments: (&arguments).into(), ..event(EventKind::Counter { id: 9 }) };
    check(counter, &[0x0003_0002_0111_0044, 0x64, 0xffff_ffff_0004_0011, 9]);
}

#[test]
fn durations() {
    let inline = Event {
        thread: Thread::Inline(koids()),
        category: "net".into(),
        name: "poll".into(),
        ..event(EventKind::DurationBegin)
    };
    check(inline, &[0x8004_8003_0002_0064, 0x64, 0x10, 0x20, 0x0074_656e, 0x6c6c_6f70]);
    let no_category = Event { category: Text::EMPTY, ..event(EventKind::DurationBegin) };
    check(no_category, &[0x0003_0000_0102_0024, 0x64]);
    check(event(EventKind::DurationEnd), &[0x0003_0002_0103_0024, 0x64]);
    check(event(EventKind::DurationComplete { end: 0x65 }), &[0x0003_0002_0104_0034, 0x64, 0x65]);
}

#[test]
fn async_and_flow_events() {
    let id = 0x0807_0605_0403_0201;
    let table = [
        (EventKind::AsyncBegin { id }, 0x0003_0002_0105_0034),
        (EventKind::AsyncInstant { id }, 0x0003_0002_0106_0034),
        (EventKind::AsyncEnd { id }, 0x0003_0002_0107_0034),
        (EventKind::FlowBegin { id }, 0x0003_0002_0108_0034),
        (EventKind::FlowStep { id }, 0x0003_0002_0109_0034),
        (EventKind::FlowEnd { id }, 0x0003_0002_010a_0034),
    ];
    for (kind, header) in table {
        check(event(kind), &[header, 0x64, 0x0807_0605_0403_0201]);
    }
}

#[test]
fn arguments() {
    let name = Text::Indexed(4);
    let table: [(Argument<'_>, &[u64]); 13] = [
        (Argument::new(name, Value::Null), &[0x0004_0010]),
        (Argument::new(name, Value::Int32(-2)), &[0xffff_fffe_0004_0011]),
        (Argument::new(name, Value::Uint32(u32::MAX)), &[0xffff_ffff_0004_0012]),
        (Argument::new(name, Value::Int64(-1)), &[0x0004_0023, 0xffff_ffff_ffff_ffff]),
        (Argument::new(name, Value::Uint64(5)), &[0x0004_0024, 5]),
        (Argument::new(name, Value::Double(1.0)), &[0x0004_0025, 0x3ff0_0000_0000_0000]),
        (Argument::new(name, Value::String(Text::Indexed(5))), &[0x0000_0005_0004_0016]),
        (
            Argument::new("poll", Value::String("abc".into())),
            &[0x0000_8003_8004_0036, 0x6c6c_6f70, ABC],
        ),
        (Argument::new(name, Value::Pointer(6)), &[0x0004_0027, 6]),
        (Argument::new(name, Value::Koid(7)), &[0x0004_0028, 7]),
        (Argument::new(name, Value::Bool(true)), &[0x0000_0001_0004_0019]),
        (Argument::new(name, Value::Bool(false)), &[0x0000_0000_0004_0019]),
        (Argument::new(name, Value::Blob(b"abc")), &[0x0000_0003_0004_002a, ABC]),
    ];
    let headers = [0, 0x0003_0002_0112_0034, 0x0003_0002_0112_0044, 0x0003_0002_0112_0054];
    for (argument, words) in table {
        let arguments = [argument];
        let begin = Event { arguments: (&arguments).into(), ..event(EventKind::DurationBegin) };
        check(begin, &[&[headers[words.len()], 0x64], words].concat());
    }
}

#[test]
fn blobs() {
    let indexed = Blob { name: Text::Indexed(5), blob_type: BlobType::DATA, payload: b"abc" };
    check(indexed, &[0x0001_0003_0005_0025, ABC]);
    let inline = Blob { name: "abc".into(), blob_type: BlobType::PERFETTO, payload: b"" };
    check(inline, &[0x0003_0000_8003_0025, ABC]);
}

#[test]
fn userspace_objects() {
    let indexed = UserspaceObject {
        process: Process::Indexed(2),
        pointer: 0xdead,
        name: Text::Indexed(3),
        arguments: Arguments::NONE,
    };
    check(indexed, &[0x0000_0000_0302_0026, 0xdead]);
    let arguments = [Argument::new(Text::Indexed(4), Value::Null)];
    let inline = UserspaceObject {
        process: Process::Inline(0x10),
        name: "abc".into(),
        arguments: (&arguments).into(),
        ..indexed
    };
    check(inline, &[0x0000_0180_0300_0056, 0xdead, 0x10, ABC, 0x0004_0010]);
}

#[test]
fn kernel_object_of_a_thread() {
    let arguments = [Argument::new(Text::Indexed(4), Value::Koid(0x10))];
    let object = KernelObject {
        object_type: ObjectType::THREAD,
        koid: 0x20,
        name: "abc".into(),
        arguments: (&arguments).into(),
    };
    check(object, &[0x0000_0180_0302_0057, 0x20, ABC, 0x0004_0028, 0x10]);
}

#[test]
fn scheduling() {
    let legacy = LegacyContextSwitch {
        ticks: 0x64,
        cpu: 3,
        outgoing_state: ThreadState::BLOCKED,
        outgoing: Thread::Indexed(1),
        incoming: Thread::Inline(koids()),
        outgoing_priority: 5,
        incoming_priority: 6,
    };
    check(legacy, &[0x0060_5000_1303_0048, 0x64, 0x10, 0x20]);
    let arguments = [Argument::new(Text::Indexed(4), Value::Int32(-1))];
    let switch = ContextSwitch {
        ticks: 0x64,
        cpu: 0x0102,
        outgoing_state: ThreadState::SUSPENDED,
        outgoing_thread: 0x20,
        incoming_thread: 0x21,
        arguments: (&arguments).into(),
    };
    check(switch, &[0x1000_0020_1021_0058, 0x64, 0x20, 0x21, 0xffff_ffff_0004_0011]);
    let wakeup = ThreadWakeup { ticks: 0x64, cpu: 3, thread: 0x20, arguments: Arguments::NONE };
    check(wakeup, &[0x2000_0000_0030_0038, 0x64, 0x20]);
}

#[test]
fn log() {
    let indexed = Log { ticks: 0x64, thread: Thread::Indexed(4), message: b"abc" };
    check(indexed, &[0x0000_0004_0003_0039, 0x64, ABC]);
    let inline = Log { thread: Thread::Inline(koids()), ..indexed };
    check(inline, &[0x0000_0000_0003_0059, 0x64, 0x10, 0x20, ABC]);
}

fn module<'a>() -> Module<'a> {
    Module {
        ticks: 0x64,
        process: Process::Inline(0x10),
        module_id: 0x0102,
        name: b"abc",
        build_id: b"\x01\x02",
    }
}

fn mmap() -> Mmap {
    Mmap {
        ticks: 0x64,
        process: Process::Indexed(5),
        module_id: 1,
        flags: 5,
        start: 0x1000,
        length: 0x2000,
        module_address: 0x3000,
    }
}

#[test]
fn profiler() {
    check(module(), &[0x0020_3010_2000_005a, 0x64, 0x10, ABC, 0x0201]);
    check(mmap(), &[0x0000_5000_1051_005a, 0x64, 0x1000, 0x2000, 0x3000]);
    let backtrace = Backtrace {
        ticks: 0x64,
        thread: Thread::Indexed(5),
        frames: Frames::from(&[0x1001, 0x1002][..]),
    };
    check(backtrace, &[0x0000_0000_2052_004a, 0x64, 0x1001, 0x1002]);
}

#[test]
fn profiler_records_can_have_a_thread_word() {
    let words = [0x0020_3010_2000_006a, 0x64, 0x10, 0, ABC, 0x0201];
    let bytes = encode::to_bytes(&words);
    assert_eq!(decode::record(&bytes), Ok(module().into()));
    let words = [0x0000_5000_1001_007a, 0x64, 0x10, 0, 0x1000, 0x2000, 0x3000];
    let bytes = encode::to_bytes(&words);
    let process = Process::Inline(0x10);
    let inline = Mmap { process, ..mmap() };
    assert_eq!(decode::record(&bytes), Ok(inline.into()));
}

#[test]
fn large_blobs() {
    let attachment = LargeBlob {
        category: Text::Indexed(1),
        name: Text::Indexed(2),
        event: None,
        payload: b"abc",
    };
    check(attachment, &[0x0000_0100_0000_004f, 0x0002_0001, 3, ABC]);
    let arguments = [Argument::new(Text::Indexed(6), Value::Bool(true))];
    let event =
        LargeBlobEvent { ticks: 0x64, thread: Thread::Indexed(4), arguments: (&arguments).into() };
    let event =
        LargeBlob { name: "abc".into(), event: Some(event), payload: b"abcdefghi", ..attachment };
    let words = [
        0x0000_0000_0000_008f,
        0x0000_0041_8003_0001,
        ABC,
        0x64,
        0x0000_0001_0006_0019,
        9,
        0x6867_6665_6463_6261,
        0x69,
    ];
    check(event, &words);
}

#[test]
fn unknown_records_are_unchanged() {
    let words = [
        0xabcd_0000_0000_002b, // record type 11
        0x0000_0000_0005_0020, // metadata type 5
        0x0000_0000_0014_0020, // trace info type 1
        0x0003_0002_010b_0024, // event type 11
        0x3000_0000_0000_0028, // scheduling type 3
        0x0000_0000_0003_002a, // profiler type 3
        0x0000_0010_0000_002f, // large type 1
        0x0000_0200_0000_002f, // large blob format 2
    ];
    for header in words {
        let payload = b"payload.";
        check(Record::Unknown(UnknownRecord { header, payload }), &[header, 0x2e64_616f_6c79_6170]);
    }
}
