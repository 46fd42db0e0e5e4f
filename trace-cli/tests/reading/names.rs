//! Names of processes and threads.

use trace_format::layout::{InstantScope, ObjectType};
use trace_format::{
    Argument, Event, EventKind, KernelObject, Record, Thread, ThreadKoids, Value, Writer,
};

use crate::harness::Place;

/// A place of a CPU's events, as importers make it up.
const CPU: ThreadKoids = ThreadKoids::new(1 << 63 | 1 << 40, 1 << 63 | 1 << 40 | 2);

fn object<'a>(
    (object_type, koid, name): (ObjectType, u64, &'a str),
    arguments: &'a [Argument<'a>],
) -> Record<'a> {
    KernelObject { object_type, koid, name: name.into(), arguments: arguments.into() }.into()
}

fn event<'a>(
    koids: ThreadKoids,
    (category, name): (&'a str, &'a str),
    kind: EventKind,
    arguments: &'a [Argument<'a>],
) -> Record<'a> {
    let (ticks, thread, category) = (5, Thread::Inline(koids), category.into());
    Event { ticks, thread, category, name: name.into(), kind, arguments: arguments.into() }.into()
}

/// As the kernel's events have it: threads with names, and a process without one.
fn kernel(more: &[Record<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "kernel").unwrap();
    let process = [Argument::new("process", Value::Koid(532))];
    let call = |thread, end| {
        let (koids, labels) = (ThreadKoids::new(532, thread), ("kernel:syscall", "fsync"));
        event(koids, labels, EventKind::DurationComplete { end }, &[])
    };
    let records = [
        object((ObjectType::THREAD, 532, "locky"), &process),
        object((ObjectType::THREAD, 533, "flusher"), &process),
        call(532, 105),
        call(533, 25),
    ];
    records.iter().chain(more).for_each(|record| writer.record(record).unwrap());
    writer.into_inner()
}

#[test]
fn a_process_without_a_name_has_that_of_its_first_thread_in_every_output() {
    let place = Place::new();
    place.put("in.fxt", &kernel(&[]));
    let run = |line: &[&str]| {
        let run = place.run(line);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{line:?}");
        run.stdout
    };
    for line in [
        &["stats", "in.fxt", "--slowest", "2"][..],
        &["stats", "in.fxt", "--by", "thread"],
        &["top", "in.fxt", "--by", "thread"],
    ] {
        let stdout = run(line);
        assert!(stdout.contains("locky (532) / locky (532)"), "{stdout}");
        assert!(stdout.contains("locky (532) / flusher (533)"), "{stdout}");
    }
    assert!(run(&["stats", "in.fxt", "--by", "process"]).contains("locky (532)\n"));
    let json: serde_json::Value =
        serde_json::from_str(&run(&["stats", "in.fxt", "--slowest", "2", "--json"])).unwrap();
    assert_eq!(json[1]["process_name"], "locky");
    for (format, name) in [
        ("csv", "532,locky,533,flusher,"),
        ("json", r#""name":"process_name","args":{"name":"locky"}"#),
        ("svg", "locky (532)"),
    ] {
        let output = format!("out.{format}");
        match format {
            "svg" => run(&["timeline", "in.fxt", "-o", &output]),
            _ => place.run(&["convert", "in.fxt", "-o", &output]).stdout,
        };
        assert!(place.text(&output).contains(name), "{format}: {}", place.text(&output));
    }
}

#[test]
fn check_names_cpus() {
    let process = [Argument::new("process", Value::Koid(CPU.process))];
    let loss = [
        Argument::new("reason", Value::String("kernel buffer full".into())),
        Argument::new("number", Value::Uint64(7)),
    ];
    let kind = EventKind::Instant { scope: Some(InstantScope::Thread) };
    let records = [
        object((ObjectType::PROCESS, CPU.process, "CPUs"), &[]),
        object((ObjectType::THREAD, CPU.thread, "CPU 1"), &process),
        event(CPU, ("trace", "records dropped"), kind, &loss),
        event(CPU, ("kernel:irq", "timer"), EventKind::DurationBegin, &[]),
    ];
    let place = Place::new();
    place.put("in.fxt", &kernel(&records));
    let stdout = place.run(&["check", "in.fxt"]).stdout;
    assert!(stdout.contains("  provider 1, CPUs / CPU 1: 7, \"kernel buffer full\"\n"), "{stdout}");
    assert!(stdout.contains("  CPUs / CPU 1 since 0.000000005s: "), "{stdout}");
    let json = place.run(&["check", "in.fxt", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["dropped"][0]["thread_name"], "CPU 1");
    assert_eq!(json["open_scopes"][0]["process_name"], "CPUs");
}
