//! Records that are not events.

use trace_format::layout::{BlobType, ObjectType, ProviderEvent, ThreadState};
use trace_format::{
    Argument, Arguments, Backtrace, Blob, ContextSwitch, EventKind, KernelObject, LargeBlob,
    LargeBlobEvent, LegacyContextSwitch, Log, Mmap, Module, Process, Record, Thread, ThreadKoids,
    ThreadWakeup, UserspaceObject, Value, Writer,
};

use trace_format::Reader;

use super::{convert_bytes, converted, head, write};
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
fn scheduling_is_shown_by_cpu() {
    let weight = [Argument::new("incoming_weight", Value::Int32(-1))];
    let switch = ContextSwitch {
        ticks: 1500,
        cpu: 2,
        outgoing_state: ThreadState::BLOCKED,
        outgoing_thread: 34,
        incoming_thread: 35,
        arguments: (&weight).into(),
    };
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 34, arguments: Arguments::NONE };
    let (events, _) = convert_bytes(&archive(&[switch.into(), wakeup.into()]));
    let expected = [
        r#"{"ph":"M","pid":4294967295,"tid":2,"name":"process_name","args":{"name":"CPUs"}}"#,
        r#"{"ph":"M","pid":4294967295,"tid":2,"name":"thread_name","args":{"name":"CPU 2"}}"#,
        concat!(
            r#"{"ph":"i","pid":4294967295,"tid":2,"cat":"sched","name":"context switch","ts":1.500,"#,
            r##""s":"t","args":{"outgoing":"#34","outgoing state":"blocked","incoming":"#35","##,
            r#""incoming_weight":-1}}"#,
        ),
        concat!(
            r#"{"ph":"i","pid":4294967295,"tid":2,"cat":"sched","name":"wakeup","ts":1.600,"#,
            r##""s":"t","args":{"thread":"#34"}}"##,
        ),
    ];
    assert_eq!(events, expected);
}

#[test]
fn legacy_context_switches_have_priorities() {
    let switch = LegacyContextSwitch {
        ticks: 1500,
        cpu: 0,
        outgoing_state: ThreadState(9),
        outgoing: Thread::Inline(THREAD),
        incoming: Thread::Inline(ThreadKoids::new(56, 78)),
        outgoing_priority: 1,
        incoming_priority: 2,
    };
    let (events, _) = convert_bytes(&archive(&[switch.into()]));
    let expected = concat!(
        r#"{"ph":"i","pid":4294967295,"tid":0,"cat":"sched","name":"context switch","ts":1.500,"#,
        r##""s":"t","args":{"outgoing":"#34","outgoing process":"#12","outgoing state":9,"##,
        r##""outgoing priority":1,"incoming":"#78","incoming process":"#56","##,
        r#""incoming priority":2}}"#,
    );
    assert_eq!(events.last().map(String::as_str), Some(expected));
}

/// Returns what stands in `systemTraceEvents`.
fn system(records: &[Record<'_>]) -> String {
    let mut json = Vec::new();
    write(Reader::new(&archive(records)[..]), &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    json["systemTraceEvents"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn scheduling_is_ftrace_too() {
    let named = object(ObjectType::THREAD, &[]);
    let weight = [Argument::new("incoming_weight", Value::Int32(7))];
    let switch = ContextSwitch {
        ticks: 1_000_001_500,
        cpu: 2,
        outgoing_state: ThreadState::BLOCKED,
        outgoing_thread: 34,
        incoming_thread: 0,
        arguments: (&weight).into(),
    };
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 35, arguments: Arguments::NONE };
    let lines = concat!(
        "# tracer: nop\n",
        "main-34 [002] .... 1.000001500: sched_switch: prev_comm=main prev_pid=34 prev_prio=120 ",
        "prev_state=S ==> next_comm=swapper/2 next_pid=0 next_prio=7\n",
        "swapper/2-0 [002] .... 0.000001600: sched_wakeup: comm=35 pid=35 prio=120 target_cpu=002\n",
    );
    assert_eq!(system(&[named, switch.into(), wakeup.into()]), lines);
    assert_eq!(system(&[named]), "");
}

#[test]
fn more_ftrace_than_is_kept_in_memory() {
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 35, arguments: Arguments::NONE };
    let lines = system(&vec![wakeup.into(); 30_000]);
    assert_eq!(lines.lines().count(), 30_001);
    assert!(lines.len() > 2 << 20);
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
