//! Records that are not events.

use trace_format::layout::{BlobType, ObjectType, ProviderEvent};
use trace_format::{
    Argument, Arguments, Backtrace, Blob, EventKind, KernelObject, LargeBlob, LargeBlobEvent, Log,
    Mmap, Module, Process, Record, Thread, UserspaceObject, Value, Writer,
};

use super::{convert_bytes, converted, head};
use crate::testing::{archive, event, THREAD};

fn object<'a>(object_type: ObjectType, arguments: &'a [Argument<'a>]) -> Record<'a> {
    let arguments = arguments.into();
    Record::KernelObject(KernelObject { object_type, koid: 34, name: "main".into(), arguments })
}

#[test]
fn processes_and_threads_are_named() {
    assert_eq!(
        converted(object(ObjectType::PROCESS, &[Argument::new("uid", Value::Uint32(7))])),
        r#"{"ph":"M","pid":34,"tid":34,"name":"process_name","args":{"name":"main","uid":7}}"#
    );
    assert_eq!(
        converted(object(ObjectType::THREAD, &[Argument::new("process", Value::Koid(12))])),
        r##"{"ph":"M","pid":12,"tid":34,"name":"thread_name","args":{"name":"main","process":"#12"}}"##
    );
    assert_eq!(
        converted(object(ObjectType::THREAD, &[])),
        r#"{"ph":"M","pid":0,"tid":34,"name":"thread_name","args":{"name":"main"}}"#
    );
    assert_eq!(
        converted(object(ObjectType(9), &[])),
        r##"{"ph":"M","pid":0,"tid":0,"name":"kernel_object","args":{"name":"main","type":9,"koid":"#34"}}"##
    );
}

#[test]
fn userspace_objects_are_snapshots() {
    let depth = [Argument::new("depth", Value::Int32(2))];
    let record = Record::UserspaceObject(UserspaceObject {
        process: Process::Inline(12),
        pointer: 0x1000,
        name: "View".into(),
        arguments: (&depth).into(),
    });
    let expected = concat!(
        r#"{"ph":"O","pid":12,"tid":12,"cat":"object","name":"View","ts":0.000,"#,
        r#""id":"0x1000","args":{"snapshot":{"depth":2}}}"#,
    );
    assert_eq!(converted(record), expected);
}

#[test]
fn logs_are_instants() {
    let record = Log { ticks: 1500, thread: Thread::Inline(THREAD), message: b"ready\n\xff" };
    let expected = concat!(
        r#"{"ph":"i","pid":12,"tid":34,"cat":"log","name":"log","ts":1.500,"s":"t","#,
        r#""args":{"message":"ready\n"#,
        "\u{fffd}\"}}",
    );
    assert_eq!(converted(record.into()), expected);
}

#[test]
fn a_full_buffer_is_shown_at_the_time_of_the_record_before() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(3, "app").unwrap();
    writer.record(&event(EventKind::DurationBegin, Arguments::NONE)).unwrap();
    writer.provider_event(3, ProviderEvent::BUFFER_FULL).unwrap();
    writer.provider_event(3, ProviderEvent(5)).unwrap();
    let (events, conversion) = convert_bytes(&writer.into_inner());
    let start = r#"{"ph":"i","pid":0,"tid":0,"cat":"trace","name":"#;
    let full = r#""buffer full","ts":1.500,"s":"g","args":{"provider":3}}"#;
    let other = r#""provider event","ts":1.500,"s":"g","args":{"provider":3,"event":5}}"#;
    assert_eq!(events, [head("B") + "}", start.to_owned() + full, start.to_owned() + other]);
    assert_eq!(conversion.damage.buffers_full, 1);
}

#[test]
fn blobs_are_in_base64() {
    let blob = Blob { name: "b".into(), blob_type: BlobType::PERFETTO, payload: b"foob" };
    assert_eq!(
        converted(blob.into()),
        r#"{"ph":"M","pid":0,"tid":0,"name":"blob","args":{"name":"b","type":3,"blob":"Zm9vYg=="}}"#
    );
    let mut large =
        LargeBlob { category: "cat".into(), name: "name".into(), event: None, payload: b"foob" };
    assert_eq!(
        converted(large.into()),
        r#"{"ph":"M","pid":0,"tid":0,"name":"blob","args":{"category":"cat","name":"name","blob":"Zm9vYg=="}}"#
    );
    let arguments = [Argument { name: "blob".into(), value: Value::Null }];
    let arguments = Arguments::from(&arguments);
    large.event = Some(LargeBlobEvent { ticks: 1500, thread: Thread::Inline(THREAD), arguments });
    let expected = head("i") + r##","s":"t","args":{"blob":null,"blob#2":"Zm9vYg=="}}"##;
    assert_eq!(converted(large.into()), expected);
}

#[test]
fn the_profiler_is_shown_as_instants() {
    let process = Process::Inline(12);
    let module =
        Module { ticks: 1500, process, module_id: 1, name: b"libc", build_id: &[0xab, 0x01] };
    assert_eq!(
        converted(module.into()),
        concat!(
            r#"{"ph":"i","pid":12,"tid":12,"cat":"profiler","name":"module","ts":1.500,"s":"p","#,
            r#""args":{"module":1,"name":"libc","build id":"ab01"}}"#,
        )
    );
    let (start, length, module_address) = (0x1000, 0x20, 0x300);
    let mmap = Mmap { ticks: 1500, process, module_id: 1, flags: 5, start, length, module_address };
    assert_eq!(
        converted(mmap.into()),
        concat!(
            r#"{"ph":"i","pid":12,"tid":12,"cat":"profiler","name":"mmap","ts":1.500,"s":"p","#,
            r#""args":{"module":1,"flags":5,"start":"0x1000","length":"0x20","#,
            r#""module address":"0x300"}}"#,
        )
    );
    let frames = [1, 2][..].into();
    let backtrace = Backtrace { ticks: 1500, thread: Thread::Inline(THREAD), frames };
    assert_eq!(
        converted(backtrace.into()),
        concat!(
            r#"{"ph":"i","pid":12,"tid":34,"cat":"profiler","name":"backtrace","ts":1.500,"#,
            r#""s":"t","stack":["0x2","0x1"]}"#,
        )
    );
}

#[test]
fn backtraces_have_the_names_of_functions() {
    let payload = br#"{"module": "/bin/app", "build id": "ab", "strings": ["spin", "a.c", "run"],
        "addresses": {"0x50": [[0, 1, 7], [2, null]]}}"#;
    let (ticks, process, module_id) = (7, Process::Inline(12), 2);
    let (name, blob_type) = ("trace symbols".into(), BlobType::DATA);
    let module = Module { ticks, process, module_id, name: b"/bin/app", build_id: b"\xab" };
    let (flags, start, length, module_address) = (5, 0x5000, 0x1000, 0x40);
    let mmap = Mmap { ticks, process, module_id, flags, start, length, module_address };
    let frames = [0x5010, 0x5011, 0x5021][..].into();
    let backtrace = Backtrace { ticks: 1500, thread: Thread::Inline(THREAD), frames };
    let names = Blob { name, blob_type, payload };
    let records = [names.into(), module.into(), mmap.into(), backtrace.into()];
    let (events, conversion) = convert_bytes(&archive(&records));
    assert!(events[2].ends_with(r#","stack":["0x5021","run","spin","run","spin"]}"#), "{events:?}");
    assert_eq!((events.len(), conversion.symbols.unwrap().omitted()), (3, 0));
}

#[test]
fn lost_records_are_counted_and_shown() {
    let arguments = [
        Argument::new("reason", Value::String("buffer full".into())),
        Argument::new("number", Value::Uint64(40)),
    ];
    let mut record = event(EventKind::Instant { scope: None }, &arguments);
    if let Record::Event(event) = &mut record {
        event.category = "trace".into();
        event.name = "records dropped".into();
    }
    let (events, conversion) = convert_bytes(&archive(&[record, record]));
    assert!(events[0].contains(r#""args":{"reason":"buffer full","number":40}"#), "{events:?}");
    assert_eq!((conversion.damage.records_dropped, conversion.events), (80, 2));
}

#[test]
fn arguments_refer_to_objects() {
    let arguments = [
        Argument::new("view", Value::Pointer(0x1000)),
        Argument::new("other", Value::Pointer(0x2000)),
        Argument::new("job", Value::Koid(34)),
        Argument::new("thread", Value::Koid(35)),
    ];
    let (process, name) = (Process::Inline(12), "View".into());
    let view = UserspaceObject { process, pointer: 0x1000, name, arguments: Arguments::NONE };
    let records =
        [view.into(), object(ObjectType(17), &[]), event(EventKind::DurationBegin, &arguments)];
    let (events, _) = convert_bytes(&archive(&records));
    let expected = concat!(
        r##","args":{"view":{"id_ref":"0x1000"},"other":"0x2000","##,
        r##""job":{"id_ref":"#34"},"thread":"#35"}}"##,
    );
    assert_eq!(events[2], head("B") + expected);
}
