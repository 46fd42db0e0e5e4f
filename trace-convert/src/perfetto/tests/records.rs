//! Records that are no events, and losses.

use trace_format::layout::{BlobType, InstantScope, ObjectType, ProviderEvent, ThreadState};
use trace_format::{
    Argument, Arguments, Backtrace, Blob, ContextSwitch, Event, EventKind, KernelObject, LargeBlob,
    LargeBlobEvent, LegacyContextSwitch, Log, Mmap, Module, Process, Record, Text, Thread,
    ThreadKoids, ThreadWakeup, UserspaceObject, Value, Writer,
};

use super::{all, convert, convert_bytes, on_thread, TRACKS};
use crate::testing::{event, THREAD};

fn own(name: &'static str, arguments: Arguments<'static>, scope: InstantScope) -> Record<'static> {
    let kind = EventKind::Instant { scope: Some(scope) };
    let Record::Event(event) = event(kind, arguments) else { unreachable!() };
    Record::Event(Event { category: "trace".into(), name: name.into(), ..event })
}

#[test]
fn logs_are_instants_and_rows() {
    let message = b"first\nsecond";
    let log = Log { ticks: 7, thread: Thread::Inline(THREAD), message };
    let text = "\"first\\nsecond\"";
    on_thread(&[log.into()], &[&format!("7 instant @2 log:first message={text} log {text}")]);
}

#[test]
fn losses_are_slices() {
    static ARGUMENTS: [Argument<'static>; 4] = [
        Argument {
            name: Text::Inline(b"reason"),
            value: Value::String(Text::Inline(b"buffer full")),
        },
        Argument { name: Text::Inline(b"number"), value: Value::Uint64(3) },
        Argument { name: Text::Inline(b"from"), value: Value::Uint64(1000) },
        Argument { name: Text::Inline(b"to"), value: Value::Uint64(1400) },
    ];
    let record = own("records dropped", (&ARGUMENTS).into(), InstantScope::Thread);
    let arguments = "reason=\"buffer full\" number=3u from=1000u to=1400u";
    let instant = format!("1500 instant @2 trace:records dropped {arguments}");
    let expected = [
        &*instant,
        "track 3 < 1 \"lost records\"",
        "1000 begin @3 trace:3 records dropped: buffer full number=3u thread=34u",
        "1400 end @3",
    ];
    on_thread(&[record], &expected);
    assert_eq!(convert(&[record]).1.damage.records_dropped, 3);
}

#[test]
fn the_first_clock_anchor_tells_the_time_of_day() {
    static ARGUMENTS: [Argument<'static>; 1] =
        [Argument { name: Text::Inline(b"realtime_ns"), value: Value::Uint64(9) }];
    let anchor = own("clock anchor", (&ARGUMENTS).into(), InstantScope::Global);
    let expected = [
        "track 1 \"global events\"",
        "1500 instant @1 trace:clock anchor realtime_ns=9u",
        "clocks [(6, 1500), (1, 9)]",
        "1500 instant @1 trace:clock anchor realtime_ns=9u",
    ];
    all(&[anchor, anchor], &expected);
}

#[test]
fn provider_events_are_told() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    writer.provider_event(1, ProviderEvent::BUFFER_FULL).unwrap();
    let (lines, conversion) = convert_bytes(&writer.into_inner());
    let expected =
        ["track 1 \"lost records\"", "0 instant @1 trace:buffer full provider=1u event=0u"];
    assert_eq!(lines, expected);
    assert_eq!(conversion.damage.buffers_full, 1);
}

#[test]
fn objects() {
    let object = |object_type, koid, arguments| -> Record<'_> {
        KernelObject { object_type, koid, name: "it".into(), arguments }.into()
    };
    all(&[object(ObjectType::PROCESS, 12, Arguments::NONE)], &["track 1 process 12 \"it\""]);
    let process = [Argument::new("process", Value::Koid(12))];
    let thread = object(ObjectType::THREAD, 34, (&process).into());
    all(&[thread], &[TRACKS[0], "track 2 < 1 thread 12/34 \"it\""]);
    let instant = "0 instant @1 object:it koid=5u type=9u";
    all(&[object(ObjectType(9), 5, Arguments::NONE)], &["track 1 \"objects\"", instant]);
    let (process, pointer) = (Process::Inline(12), 0xff);
    let arguments = Arguments::NONE;
    let object = UserspaceObject { process, pointer, name: "it".into(), arguments };
    let instant = "0 instant @2 object:it pointer=0xff";
    all(&[object.into()], &["track 2 < 1 \"objects\"", instant, TRACKS[0]]);
}

#[test]
fn blobs() {
    let blob = Blob { name: "it".into(), blob_type: BlobType::DATA, payload: b"\x01\x02" };
    let instant = "0 instant @1 blob:it type=1u size=2u blob=\"0102\"";
    all(&[blob.into()], &["track 1 \"blobs\"", instant]);
    let (category, name, payload) = ("cat".into(), "it".into(), &vec![0xff_u8; (16 << 20) + 1][..]);
    let attachment = LargeBlob { category, name, event: None, payload };
    let digits = "ff".repeat(16 << 20);
    let expected = format!("0 instant @1 cat:it size=16777217u blob=\"{digits}\"");
    all(&[attachment.into()], &["track 1 \"blobs\"", &expected]);
    let arguments = Arguments::NONE;
    let event = Some(LargeBlobEvent { ticks: 7, thread: Thread::Inline(THREAD), arguments });
    let large = LargeBlob { event, payload: b"\x01", ..attachment };
    on_thread(&[large.into()], &["7 instant @2 cat:it size=1u blob=\"01\""]);
}

#[test]
fn packets_of_perfetto_are_passed_on() {
    let blob = |payload| -> Record<'_> {
        Blob { name: "it".into(), blob_type: BlobType::PERFETTO, payload }.into()
    };
    // A packet with the time 5 and an event that ends something on track 9, in two pieces.
    let records = [blob(&b"\x0a\x08\x40\x05"[..]), blob(b"\x5a\x04\x48\x02\x58\x09")];
    all(&records, &["5 end @9"]);
    let tracks = "track 1 \"blobs\"";
    let rest = "0 instant @1 blob:packet without its end type=3u size=2u blob=\"0a08\"";
    all(&[blob(b"\x0a\x08")], &[tracks, rest]);
    let other = "0 instant @1 blob:it type=3u size=3u blob=\"0a0108\"";
    all(&[blob(b"\x0a\x01\x08")], &[tracks, other]);
}

#[test]
fn a_process_has_the_last_of_its_names() {
    let named = |name: &'static str| -> Record<'_> {
        let (object_type, arguments) = (ObjectType::PROCESS, Arguments::NONE);
        KernelObject { object_type, koid: 12, name: name.into(), arguments }.into()
    };
    let begin = event(EventKind::DurationBegin, Arguments::NONE);
    let tracks = ["track 1 process 12 \"second\"", TRACKS[1]];
    let expected = ["1500 begin @2 cat:name", tracks[0], tracks[1]];
    all(&[named("first"), begin, named("second")], &expected);
}

#[test]
fn a_thread_named_without_its_process_is_named_in_the_process_of_its_events() {
    let (object_type, arguments) = (ObjectType::THREAD, Arguments::NONE);
    let name = KernelObject { object_type, koid: 34, name: "main".into(), arguments }.into();
    let begin = event(EventKind::DurationBegin, Arguments::NONE);
    for records in [[name, begin], [begin, name]] {
        let expected = ["1500 begin @2 cat:name", TRACKS[0], "track 2 < 1 thread 12/34 \"main\""];
        all(&records, &expected);
    }
}

#[test]
fn labels_and_places_of_documents() {
    let metadata = |name: &str, arguments: &str| {
        format!(r#"{{"ph":"M","pid":12,"tid":34,"name":"{name}","args":{{{arguments}}}}}"#)
    };
    let json = [
        metadata("process_labels", r#""labels":"one,two""#),
        metadata("process_sort_index", r#""sort_index":-5"#),
        metadata("thread_sort_index", r#""sort_index":7"#),
        r#"{"ph":"B","pid":12,"tid":34,"name":"name","cat":"cat","ts":1.5}"#.to_owned(),
    ];
    let mut archive = Vec::new();
    let json = format!("[{}]", json.join(","));
    crate::tef::to_fxt(crate::tef::Reader::new(json.as_bytes()), &mut archive).unwrap();
    let expected = [
        "1500 begin @3 cat:name",
        r#"track 2 process 12 "" labels ["one", "two"] at -5"#,
        r#"track 3 < 2 thread 12/34 "" at 7"#,
    ];
    // Before them is the form of the document.
    assert_eq!(convert_bytes(&archive).0[2..], expected);
}

#[test]
fn what_has_no_time_waits_for_one() {
    let blob = Blob { name: "it".into(), blob_type: BlobType::DATA, payload: b"" };
    let (lines, _) = convert(&[blob.into(), event(EventKind::DurationBegin, Arguments::NONE)]);
    let events: Vec<&String> = lines.iter().filter(|line| !line.starts_with("track")).collect();
    assert_eq!(events[0], "1500 instant @1 blob:it type=1u size=0u blob=\"\"");
    assert_eq!(events[1], "1500 begin @3 cat:name");
}

#[test]
fn scheduling() {
    let outgoing_state = ThreadState::BLOCKED;
    let koids = |thread| Thread::Inline(ThreadKoids::new(12, thread));
    let legacy = LegacyContextSwitch {
        ticks: 5,
        cpu: 3,
        outgoing_state,
        outgoing: koids(34),
        incoming: koids(35),
        outgoing_priority: 7,
        incoming_priority: 8,
    };
    let expected = "5 cpu 3 by 34: 34 \"\" Some(7) 1 to 35 \"\" Some(8)";
    let other = "track 3 < 1 thread 12/35 \"\"";
    all(&[legacy.into()], &[expected, TRACKS[0], TRACKS[1], other]);
    let weights = [
        Argument::new("outgoing_weight", Value::Int32(6)),
        Argument::new("incoming_weight", Value::Int32(i32::MIN)),
    ];
    let (arguments, outgoing_thread, incoming_thread) = ((&weights).into(), 34, 99);
    let switch = ContextSwitch {
        ticks: 6,
        cpu: 3,
        outgoing_state,
        outgoing_thread,
        incoming_thread,
        arguments,
    };
    all(&[switch.into()], &["6 cpu 3 by 34: 34 \"\" Some(6) 1 to 0 \"swapper\" None"]);
    let far = ContextSwitch { cpu: 1024, ..switch };
    let names = "prev_comm=\"\" prev_state=1u next_pid=0u next_comm=\"swapper\"";
    let instant = format!("6 instant @1 sched:sched_switch cpu=1024u prev_pid=34u {names}");
    all(&[far.into()], &["track 1 \"CPUs from 1024 on\"", &instant]);
    let waker = [Argument::new("weight", Value::Int32(2)), Argument::new("waker", Value::Koid(34))];
    let wakeup = ThreadWakeup { ticks: 7, cpu: 3, thread: 35, arguments: (&waker).into() };
    all(&[wakeup.into()], &["7 cpu 3 by 34: wakes 35 \"\" Some(2) on 3"]);
    let interrupt = [
        Argument::new("interrupt", Value::String("soft".into())),
        Argument::new("interrupted", Value::Koid(34)),
    ];
    let interrupted = ThreadWakeup { arguments: (&interrupt).into(), ..wakeup };
    all(&[interrupted.into()], &["7 cpu 3 by 34: wakes 35 \"\" None flags 0x10 on 3"]);
    let far = ThreadWakeup { cpu: u16::MAX, ..wakeup };
    let instant = "7 instant @1 sched:sched_waking cpu=65535u pid=35u comm=\"\" waker=34u";
    all(&[far.into()], &["track 1 \"CPUs from 1024 on\"", instant]);
}

/// A recording of some threads has the switch to another one, but not those after it.
#[test]
fn partial_threads_have_no_turns() {
    let partial = [Argument::new("partial", Value::Bool(true))];
    let (object_type, name) = (ObjectType::THREAD, "other".into());
    let other = KernelObject { object_type, koid: 99, name, arguments: (&partial).into() };
    let switch = |ticks, outgoing_thread, incoming_thread| {
        let (cpu, outgoing_state, arguments) = (3, ThreadState::BLOCKED, Arguments::NONE);
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
    };
    let wakeup = ThreadWakeup { ticks: 7, cpu: 3, thread: 99, arguments: Arguments::NONE };
    let (from, to) = (switch(6, 34, 99).into(), switch(8, 99, 34).into());
    let (lines, _) = convert(&[other.into(), from, wakeup.into(), to]);
    let scheduled: Vec<&String> = lines.iter().filter(|line| line.contains(" cpu 3 ")).collect();
    let expected = [
        "6 cpu 3 by 34: 34 \"\" None 1 to 0 \"swapper\" None",
        "8 cpu 3 by 0: 0 \"swapper\" None 1 to 34 \"\" None",
    ];
    assert_eq!(scheduled, expected);
}

#[test]
fn profiler() {
    let (ticks, process, module_id) = (7, Process::Inline(12), 2);
    let module = Module { ticks, process, module_id, name: b"app", build_id: b"\xab" };
    let track = "track 2 < 1 \"modules\"";
    let expected = "7 instant @2 profiler:app module=2u build id=\"ab\"";
    all(&[module.into()], &[track, expected, TRACKS[0]]);
    let (start, length, module_address) = (16, 32, 0);
    let mmap = Mmap { ticks, process, module_id, flags: 5, start, length, module_address };
    let expected = "7 instant @2 profiler:mmap module=2u flags=5u start=0x10 length=0x20";
    all(&[mmap.into()], &[track, &format!("{expected} module address=0x0"), TRACKS[0]]);
    let backtrace =
        Backtrace { ticks, thread: Thread::Inline(THREAD), frames: (&[1, 2][..]).into() };
    on_thread(&[backtrace.into()], &["7 sample 1 12/34 0x2@[]+0x2 0x1@[]+0x1"]);
    let frames = (&[][..]).into();
    on_thread(&[Backtrace { frames, ..backtrace }.into()], &["7 sample 1 12/34"]);
    let track = Thread::Inline(ThreadKoids::new(12, 1 << 40));
    let (lines, _) = convert(&[Backtrace { thread: track, ..backtrace }.into()]);
    assert_eq!(lines[0], "7 instant @2 profiler:backtrace frames=[0x1 0x2]");
}

/// Returns the records of a module with names of functions, one of them inlined.
fn named_module<'a>(payload: &'a [u8]) -> [Record<'a>; 3] {
    let (ticks, process, module_id) = (7, Process::Inline(12), 2);
    let (name, blob_type) = ("trace symbols".into(), BlobType::DATA);
    let module = Module { ticks, process, module_id, name: b"/bin/app", build_id: b"\xab" };
    let (flags, start, length, module_address) = (5, 0x5000, 0x1000, 0x40);
    let mmap = Mmap { ticks, process, module_id, flags, start, length, module_address };
    [Blob { name, blob_type, payload }.into(), module.into(), mmap.into()]
}

#[test]
fn samples_have_the_names_of_functions() {
    let payload = br#"{"module": "/bin/app", "build id": "ab", "strings": ["spin", "a.c", "run"],
        "addresses": {"0x50": [[0, 1, 7], [2, null]]}}"#;
    let sample = |ticks, frames: &'static [u64]| {
        Record::from(Backtrace { ticks, thread: Thread::Inline(THREAD), frames: frames.into() })
    };
    let samples = [sample(8, &[0x5010, 0x5011, 0x5021]), sample(9, &[0x5010, 0x5011, 0x5021])];
    let (lines, conversion) = convert(&[&named_module(payload)[..], &samples].concat());
    let lines: Vec<&String> = lines.iter().filter(|line| line.contains(" sample ")).collect();
    let spin = "run@/bin/app[ab]+0x50 spin@/bin/app[ab]+0x50(a.c:7)";
    let stack = format!("12/34 app+0x60@/bin/app[ab]+0x60 {spin} {spin}");
    assert_eq!(lines, [&format!("8 sample 1 {stack}"), &format!("9 sample 2 {stack}")]);
    assert_eq!((conversion.symbols.unwrap().omitted(), conversion.mappings_left_out), (0, 0));
}

/// The decoder of these tests clears its data when the packets say so.
#[test]
fn many_stacks_are_interned_again() {
    let stacks: Vec<[u64; 2]> = (0..500).map(|number| [0x5000 + 2 * number, 0x5001]).collect();
    let sample = |frames| Backtrace { ticks: 8, thread: Thread::Inline(THREAD), frames };
    let samples = stacks.iter().map(|stack| Record::from(sample((&stack[..]).into())));
    let records: Vec<Record<'_>> = named_module(b"").into_iter().chain(samples).collect();
    let (lines, conversion) = convert(&records);
    let lines: Vec<&String> = lines.iter().filter(|line| line.contains(" sample ")).collect();
    for (number, line) in lines.iter().enumerate() {
        let address = 0x40 + 2 * number;
        let outer = "app+0x40@/bin/app[ab]+0x40";
        let inner = format!("app+{address:#x}@/bin/app[ab]+{address:#x}");
        assert_eq!(**line, format!("8 sample {} 12/34 {outer} {inner}", number + 1));
    }
    assert_eq!(lines.len(), 500);
    assert_eq!(conversion.symbols.unwrap().omitted(), 1, "the names are malformed");
}

#[test]
fn an_empty_archive_is_an_empty_trace() {
    let (lines, conversion) = convert(&[]);
    assert!(lines.is_empty() && conversion.damage.is_readable());
}

#[test]
fn arguments_and_frames_have_the_names_of_their_objects() {
    let (process, name, arguments) = (Process::Inline(12), "View".into(), Arguments::NONE);
    let view = UserspaceObject { process, pointer: 0x1000, name, arguments };
    let arguments = [Argument::new("view", Value::Pointer(0x1000))];
    let frames = (&[0x1000, 2][..]).into();
    let backtrace = Backtrace { ticks: 7, thread: Thread::Inline(THREAD), frames };
    let records =
        [view.into(), event(EventKind::DurationBegin, &arguments), Record::from(backtrace)];
    let (lines, _) = convert(&records);
    let found: Vec<&String> = lines.iter().filter(|line| line.contains("@3")).collect();
    assert_eq!(found, ["1500 begin @3 cat:name view=0x1000 view name=\"View\""]);
    let sample = lines.iter().find(|line| line.contains(" sample ")).unwrap();
    assert_eq!(sample, "7 sample 1 12/34 0x2@[]+0x2 View@[]+0x1000");
}
