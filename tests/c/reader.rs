//! The reader for C and C++.

use std::path::Path;
use std::process::Command;

use trace_format::layout::{BlobType, InstantScope, ObjectType, ProviderEvent, ThreadState};
use trace_format::{
    Argument, Arguments, Backtrace, Blob, ContextSwitch, Event, EventKind, KernelObject, LargeBlob,
    LargeBlobEvent, LegacyContextSwitch, Log, Mmap, Module, Process, Record, Text, Thread,
    ThreadKoids, ThreadWakeup, UnknownRecord, UserspaceObject, Value, Writer,
};

use crate::harness::{trace, Run};
use crate::workshop::Workshop;

const THREAD: Thread = Thread::Inline(ThreadKoids::new(12, 34));

/// Every kind of event and record, and every type of argument.
fn records<'a>(all: &'a [Argument<'a>]) -> Vec<Record<'a>> {
    let kinds = [
        EventKind::Instant { scope: Some(InstantScope::Thread) },
        EventKind::Instant { scope: Some(InstantScope::Process) },
        EventKind::Instant { scope: Some(InstantScope::Global) },
        EventKind::Instant { scope: None },
        EventKind::Counter { id: 7 },
        EventKind::DurationBegin,
        EventKind::DurationEnd,
        EventKind::DurationComplete { end: 9000 },
        EventKind::DurationComplete { end: 1 },
        EventKind::AsyncBegin { id: u64::MAX },
        EventKind::AsyncInstant { id: 1 },
        EventKind::AsyncEnd { id: 1 },
        EventKind::FlowBegin { id: 1 },
        EventKind::FlowStep { id: 1 },
        EventKind::FlowEnd { id: 1 },
    ];
    let (category, name) = (Text::from("category"), Text::from("a \"name\"\n\\\t\r"));
    let (ticks, thread, arguments) = (3001, THREAD, Arguments::from(all));
    let none = Arguments::NONE;
    let events = kinds.map(|kind| Event { ticks, thread, category, name, kind, arguments }.into());
    let object_type = ObjectType::THREAD;
    let switch = |outgoing_state, arguments| ContextSwitch {
        ticks,
        cpu: 300,
        outgoing_state,
        outgoing_thread: 5,
        incoming_thread: 6,
        arguments,
    };
    let legacy = |outgoing_state| LegacyContextSwitch {
        ticks,
        cpu: 3,
        outgoing_state,
        outgoing: thread,
        incoming: Thread::UNKNOWN,
        outgoing_priority: 1,
        incoming_priority: 2,
    };
    let process = Process::Inline(12);
    let (module_id, flags, start) = (4, 5, 0x1000);
    let mut records: Vec<Record<'_>> = events.to_vec();
    records.extend([
        Record::from(Blob { name, blob_type: BlobType::DATA, payload: b"bytes" }),
        Blob { name, blob_type: BlobType::PERFETTO, payload: b"" }.into(),
        Blob { name, blob_type: BlobType(9), payload: b"12345678" }.into(),
        UserspaceObject { process, pointer: 255, name, arguments }.into(),
        KernelObject { object_type, koid: 34, name, arguments: none }.into(),
        KernelObject { object_type: ObjectType::PROCESS, koid: 12, name, arguments }.into(),
        KernelObject { object_type: ObjectType(100), koid: 1, name, arguments: none }.into(),
        legacy(ThreadState::BLOCKED).into(),
        legacy(ThreadState(9)).into(),
        switch(ThreadState::DEAD, arguments).into(),
        switch(ThreadState(7), none).into(),
        ThreadWakeup { ticks, cpu: 3, thread: 5, arguments }.into(),
        Log { ticks, thread, message: b"gr\xc3\xbcn, not UTF-8: \xff" }.into(),
        Module { ticks, process, module_id, name: b"app", build_id: &[1, 0xab] }.into(),
        Mmap { ticks, process, module_id, flags, start, length: 8, module_address: 16 }.into(),
        Backtrace { ticks, thread, frames: [1, u64::MAX].as_slice().into() }.into(),
        LargeBlob { category, name, event: None, payload: b"bytes" }.into(),
        LargeBlob {
            category,
            name,
            event: Some(LargeBlobEvent { ticks, thread, arguments }),
            payload: b"",
        }
        .into(),
        Record::Unknown(UnknownRecord { header: 13, payload: &[1; 16] }),
        Event { ticks, thread, category, name: Text::UNKNOWN, kind: kinds[0], arguments: none }
            .into(),
    ]);
    records
}

fn archive() -> Vec<u8> {
    let argument = Argument::new;
    let all = [
        argument("null", Value::Null),
        argument("int32", Value::Int32(i32::MIN)),
        argument("uint32", Value::Uint32(u32::MAX)),
        argument("int64", Value::Int64(i64::MIN)),
        argument("uint64", Value::Uint64(u64::MAX)),
        argument("double", Value::Double(0.1)),
        argument("whole", Value::Double(-3.0)),
        argument("string", Value::String("a\u{20ac}".into())),
        argument("empty", Value::String(Text::EMPTY)),
        argument("pointer", Value::Pointer(0xffff_ffff_ffff)),
        argument("koid", Value::Koid(77)),
        argument("bool", Value::Bool(true)),
        argument("", Value::Bool(false)),
        argument("blob", Value::Blob(b"bytes")),
    ];
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.initialization(1_000_000).unwrap();
    writer.provider(7, "app").unwrap();
    writer.initialization(3_000_000_000).unwrap();
    records(&all).iter().for_each(|record| writer.record(record).unwrap());
    writer.provider(8, "").unwrap();
    writer.provider_event(7, ProviderEvent::BUFFER_FULL).unwrap();
    writer.provider_event(7, ProviderEvent(5)).unwrap();
    writer.section(7).unwrap();
    writer.into_inner()
}

fn example(name: &str) -> String {
    format!("{}/examples/from_c/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Asserts that a program and `trace dump` print the same for an archive.
#[track_caller]
fn dumps_alike(program: &Path, archive: &Path, records: usize) {
    let ours = Run::of(Command::new(program).arg(archive));
    let theirs = Run::of(trace(&["dump"]).arg(archive));
    assert_eq!(ours.code(), 0, "{ours:?}");
    assert!(ours.stdout().lines().count() >= records, "{ours:?}");
    for (ours, theirs) in ours.stdout().lines().zip(theirs.stdout().lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.stdout(), theirs.stdout());
}

#[test]
fn the_example_in_c_prints_what_trace_dump_prints() {
    let workshop = Workshop::new(&[]);
    let path = workshop.path("archive.fxt");
    std::fs::write(&path, archive()).unwrap();
    let dump = workshop.reader("dump", &example("dump.c"));
    dumps_alike(&dump, &path, 50);
    workshop.run(&["records.c"], &[]);
    dumps_alike(&dump, &workshop.path("trace.fxt"), 50);
}

#[test]
fn the_example_in_cxx_adds_up_durations() {
    let workshop = Workshop::new(&["-O2"]);
    workshop.run(&["points.cc"], &[]);
    let totals = workshop.reader("totals", &example("totals.cc"));
    let run = Run::of(Command::new(&totals).arg(workshop.path("trace.fxt")));
    assert_eq!(run.code(), 0, "{run:?}");
    let said = run.stdout();
    let counts: Vec<(&str, &str)> = said
        .lines()
        .map(|line| (line.split_whitespace().next().unwrap(), line.rsplit("us  ").next().unwrap()))
        .collect();
    let expected =
        [("2", "cxx/template"), ("3", "cxx/unwound"), ("1", "points/inner"), ("1", "points/outer")];
    assert_eq!(counts, expected);
    let missing = Run::of(Command::new(&totals).arg(workshop.path("missing")));
    assert_eq!(missing.code(), 1);
    assert!(missing.stderr().contains("No such file"), "{missing:?}");
}

fn storm(flags: &[&'static str]) {
    let workshop = Workshop::new(flags);
    let path = workshop.path("archive.fxt");
    std::fs::write(&path, archive()).unwrap();
    let run = Run::of(Command::new(workshop.reader("storm", "reader_storm.c")).arg(&path));
    assert_eq!((run.code(), run.stdout().as_str()), (0, "1\n"), "{run:?}");
}

#[test]
fn damaged_archives_are_errors() {
    storm(&["-O1"]);
}

/// The address sanitizer also detects leaks.
#[test]
fn damaged_archives_under_sanitizers() {
    const FLAGS: [&str; 3] = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    if Workshop::new(&FLAGS).try_program_alone("empty.c") {
        storm(&FLAGS);
    } else {
        println!("left out: this compiler has no sanitizers");
    }
}

#[test]
fn a_program_may_trace_and_read() {
    let workshop = Workshop::new(&[]);
    let program = workshop.program_and_reader("both", "both.c");
    let run = Run::of(&mut workshop.traced(&program, &[]));
    assert_eq!(run.code(), 0, "{run:?}");
    let said = run.stdout();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "traced number=3");
    assert!(lines[1].starts_with("1 cannot read the trace at byte 0: No such file"), "{said}");
    assert_eq!(lines[2], "2 not a trace: it starts with 0x00010102464c457f");
    assert!(lines[3].starts_with("1 cannot read the trace at byte 0: "), "{said}");
    assert_eq!(lines.len(), 4);
}
