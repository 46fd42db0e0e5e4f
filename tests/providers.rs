//! Providers that are no applications, beside applications: the examples run as their users would
//! run them, and several providers in one process.

#[allow(dead_code, unused_imports, reason = "the harness is for all tests of whole processes")]
mod harness;

use std::process::Command;

use harness::{programs, subject_path, trace, Archive, Session};
use trace_format::layout::ThreadKoids;
use trace_format::record::{Arguments, ContextSwitch, EventKind, Record, Thread, Value};
use trace_provider::Provider;

/// Runs a program, which succeeds.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("its output is text")
}

/// Both processes are providers of one archive, each with its own records.
#[test]
fn the_device_provider_is_recorded_beside_an_application() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("all.fxt");
    let mut record = trace(&["record", "-o"]);
    record.arg(&output).args(["--", "sh", "-c", "\"$0\" 3 & \"$1\" burst 100 && wait $!"]);
    record.arg(programs::example_path("machine_load")).arg(subject_path());
    run(&mut record);
    let archive = Archive::read(&output);
    let provider = |name: &str| {
        let found = archive.providers.iter().find(|provider| provider.name == name);
        found.unwrap_or_else(|| panic!("no {name}: {:?}", archive.names()))
    };
    let (machine, subject) = (provider("machine"), provider("subject"));
    assert_eq!(archive.providers.len(), 2);
    assert_ne!(machine.pid, subject.pid);
    assert_eq!(subject.named("instant").count(), 100);
    assert!(subject.events.iter().all(|event| event.category != "machine"));
    let memory: Vec<u64> =
        machine.named("memory").map(|event| event.numbers["available KiB"]).collect();
    assert_eq!((memory.len(), machine.named("load").count()), (3, 3));
    assert!(memory.iter().all(|kib| *kib > 0));
    assert!(machine.events.iter().all(|event| event.process == machine.pid));
    let names = machine.thread_names.values().flatten().cloned().collect::<Vec<_>>();
    assert_eq!(names, ["machine_load"]);
}

/// An input format of one's own.
#[test]
fn the_importer_counts_the_jobs_of_its_log() {
    let output = run(&mut Command::new(programs::example_path("importer")));
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["compile 1 2700 ns", "test 1 900 ns"]);
}

/// Each has a name, a buffer and tables of its own, and the kernel's word for its process.
#[test]
fn a_process_has_several_providers() {
    let session = Session::start("streaming", 1 << 20);
    let connect = |name: &str| Provider::builder(name).socket(session.socket()).connect().unwrap();
    let providers = ["left", "right"].map(connect);
    for provider in &providers {
        provider.status().unwrap();
    }
    let mut writers = providers.each_ref().map(Provider::writer);
    for (number, writer) in (1u64..).zip(&mut writers) {
        let mut context = writer.context().expect("the session has started");
        let foreign = context.thread(99, 7);
        for _ in 0..number {
            assert!(context.counter("side", "count", 0, &[("number", Value::Uint64(number))]));
        }
        let instant = EventKind::Instant { scope: None };
        assert!(context.event_at(1, foreign, "side", "elsewhere", instant, &[]));
    }
    drop((providers, writers));
    let (archive, summary) = session.end();
    assert_eq!(summary.providers.len(), 2);
    let pid = u64::from(std::process::id());
    for (name, number) in [("left", 1), ("right", 2)] {
        let of = archive.providers.iter().find(|provider| provider.name == name).unwrap();
        assert_eq!(of.named("count").count() as u64, number);
        assert!(of.named("count").all(|event| event.numbers["number"] == number));
        // An application's word about other processes does not count.
        let elsewhere: Vec<_> = of.named("elsewhere").map(|it| (it.process, it.thread)).collect();
        assert_eq!(elsewhere, [(pid, 7)]);
    }
}

/// A provider that the manager's user allows it writes about processes and processors.
#[test]
fn a_provider_about_the_machine_writes_scheduling_records() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: the manager takes this from another process of root only");
        return;
    }
    let session = Session::start("streaming", 1 << 20);
    session.manager.allow_machine_provider(std::process::id()).unwrap();
    let builder = Provider::builder("kernel").socket(session.socket()).about_machine();
    let provider = builder.connect().unwrap();
    let mut writer = provider.writer();
    let mut context = writer.context().expect("the session has started");
    let switch = ContextSwitch {
        ticks: context.now(),
        cpu: 1,
        outgoing_state: trace_format::layout::ThreadState::BLOCKED,
        outgoing_thread: 10,
        incoming_thread: 11,
        arguments: Arguments::NONE,
    };
    assert!(context.write(&Record::from(switch)));
    let other = Thread::Inline(ThreadKoids::new(10, 11));
    let now = context.now();
    assert!(context.event_at(now, other, "sched", "begin", EventKind::DurationBegin, &[]));
    drop((writer, provider));
    // None of them is refused.
    let (archive, _) = session.end();
    let begin = archive.only().named("begin").next().unwrap();
    assert_eq!((begin.process, begin.thread), (10, 11));
}
