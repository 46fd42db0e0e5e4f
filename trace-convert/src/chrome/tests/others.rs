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

fn switch(
    ticks: u64,
    outgoing_thread: u64,
    outgoing_state: ThreadState,
    incoming_thread: u64,
) -> ContextSwitch<'static> {
    let arguments = Arguments::NONE;
    ContextSwitch { ticks, cpu: 2, outgoing_state, outgoing_thread, incoming_thread, arguments }
}

const CPU: &str = concat!(
    r#"{"ph":"M","pid":4294967295,"tid":2,"name":"process_name","tef:added":true,"args":{"name":"CPUs"}}"#,
    "\n",
    r#"{"ph":"M","pid":4294967295,"tid":2,"name":"process_labels","tef:added":true,"args":{"labels":"the same as systemTraceEvents"}}"#,
    "\n",
    r#"{"ph":"M","pid":4294967295,"tid":2,"name":"thread_name","tef:added":true,"args":{"name":"CPU 2"}}"#,
    "\n",
);

/// Returns the JSON of these records behind the names of CPU 2.
fn on_cpu(records: &[Record<'_>]) -> String {
    let (events, _) = convert_bytes(&archive(records));
    let events = events.into_iter().map(|event| event + "\n").collect::<String>();
    events.strip_prefix(CPU).unwrap().replace(r#""pid":4294967295,"tid":2,"cat":"sched""#, "CPU")
}

#[test]
fn turns_are_durations_on_a_cpu() {
    let named = object(ObjectType::THREAD, &[]);
    let weights = [
        Argument::new("outgoing_weight", Value::Int32(i32::MIN)),
        Argument::new("incoming_weight", Value::Int32(-1)),
    ];
    let first =
        ContextSwitch { arguments: (&weights).into(), ..switch(1500, 99, ThreadState(0), 34) };
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 35, arguments: Arguments::NONE };
    let records = [
        first.into(),
        wakeup.into(),
        switch(1700, 34, ThreadState::BLOCKED, 35).into(),
        // When 35 went is missing.
        switch(2000, 36, ThreadState(9), 0).into(),
        switch(2500, 0, ThreadState::RUNNING, 37).into(),
    ];
    let expected = concat!(
        r##"{"ph":"i",CPU,"name":"wakeup","ts":1.600,"s":"t","tef:added":true,"args":{"thread":"#35"}}"##,
        "\n",
        r##"{"ph":"X",CPU,"name":"34","ts":1.500,"dur":0.200,"tef:added":true,"args":{"thread":"#34","weight":-1,"state afterwards":"blocked"}}"##,
        "\n",
        r##"{"ph":"i",CPU,"name":"35","ts":1.700,"s":"t","tef:added":true,"args":{"thread":"#35"}}"##,
        "\n",
        r##"{"ph":"B",CPU,"name":"37","ts":2.500,"tef:added":true,"args":{"thread":"#37"}}"##,
        "\n",
    );
    assert_eq!(on_cpu(&records), expected);
    let (events, _) = convert_bytes(&archive(&[&[named], &records[..]].concat()));
    assert!(events.concat().contains(r#""name":"main","ts":1.500,"dur":0.200"#), "{events:?}");
}

/// A turn is written at its end, with the time of its start.
#[test]
fn what_has_no_time_has_that_of_the_record_before() {
    let process = Process::Inline(12);
    let (pointer, name, arguments) = (0xa, "object".into(), Arguments::NONE);
    let object = UserspaceObject { process, pointer, name, arguments }.into();
    let ran = switch(1500, 0, ThreadState::RUNNING, 34).into();
    let (events, _) = convert_bytes(&archive(&[ran, object]));
    assert!(events.concat().contains(r#""name":"object","ts":1.500"#), "{events:?}");
    let went = switch(1700, 34, ThreadState::BLOCKED, 0).into();
    let (events, _) = convert_bytes(&archive(&[ran, went, object]));
    assert!(events.concat().contains(r#""name":"object","ts":1.700"#), "{events:?}");
}

#[test]
fn what_is_said_beside_is_said_too() {
    let more = [Argument::new("reason", Value::Int32(7))];
    let idle =
        ContextSwitch { arguments: (&more).into(), ..switch(1500, 34, ThreadState::DEAD, 0) };
    let expected = concat!(
        r##"{"ph":"i",CPU,"name":"context switch","ts":1.500,"s":"t","args":{"outgoing":"#34","##,
        r##""outgoing state":"dead","incoming":"#0","reason":7}}"##,
        "\n",
    );
    assert_eq!(on_cpu(&[idle.into()]), expected);
}

#[test]
fn legacy_context_switches_have_priorities() {
    let other = Thread::Inline(ThreadKoids::new(56, 78));
    let switch = |ticks, outgoing, incoming| LegacyContextSwitch {
        ticks,
        cpu: 2,
        outgoing_state: ThreadState(9),
        outgoing,
        incoming,
        outgoing_priority: 1,
        incoming_priority: 2,
    };
    let records = [
        switch(1500, Thread::Inline(THREAD), other).into(),
        switch(2500, other, Thread::Inline(ThreadKoids::UNKNOWN)).into(),
    ];
    let expected = concat!(
        r##"{"ph":"X",CPU,"name":"78","ts":1.500,"dur":1.000,"tef:added":true,"##,
        r##""args":{"thread":"#78","process":"#56","weight":2,"state afterwards":9}}"##,
        "\n",
    );
    assert_eq!(on_cpu(&records), expected);
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
    let idle = [Argument::new("incoming_weight", Value::Int32(i32::MIN))];
    let to_idle = ContextSwitch {
        ticks: 1_000_002_000,
        incoming_thread: 5,
        arguments: (&idle).into(),
        ..switch
    };
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 35, arguments: Arguments::NONE };
    let waker = [Argument::new("waker", Value::Koid(34))];
    let woken = ThreadWakeup { arguments: (&waker).into(), ..wakeup };
    let lines = concat!(
        "# tracer: nop\n",
        "main-34 [002] .... 1.000001500: sched_switch: prev_comm=main prev_pid=34 prev_prio=120 ",
        "prev_state=S ==> next_comm=swapper/2 next_pid=0 next_prio=7\n",
        "swapper/2-0 [002] .... 0.000001600: sched_wakeup: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] .... 0.000001600: sched_waking: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] .... 0.000001600: sched_wakeup: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] .... 1.000002000: sched_switch: prev_comm=main prev_pid=34 prev_prio=120 ",
        "prev_state=S ==> next_comm=swapper/2 next_pid=0 next_prio=120\n",
    );
    let records = [named, switch.into(), wakeup.into(), woken.into(), to_idle.into()];
    assert_eq!(system(&records), lines);
    assert_eq!(system(&[named]), "");
    let KernelObject { object_type, koid, arguments, .. } = match named {
        Record::KernelObject(object) => object,
        other => panic!("{other:?}"),
    };
    let hash = KernelObject { object_type, koid, name: "#1\n".into(), arguments };
    assert!(system(&[hash.into(), switch.into()]).contains("\n #1 -34 [002] "));
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
