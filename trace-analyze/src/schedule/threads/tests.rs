use serde_json::json;
use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{Argument, ContextSwitch, KernelObject, ThreadWakeup, Value, Writer};

use super::*;

/// Returns an archive of a provider of scheduling records and of one program.
fn archive() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "kernel").unwrap();
    let process = |koid| Argument::new("process", Value::Koid(koid));
    let partial = Argument::new("partial", Value::Bool(true));
    name(&mut writer, (ObjectType::THREAD, 7, "app"), &[process(5)]);
    name(&mut writer, (ObjectType::THREAD, 8, "app"), &[process(5)]);
    name(&mut writer, (ObjectType::THREAD, 9, "other"), &[partial]);
    let (running, blocked) = (ThreadState::RUNNING, ThreadState::BLOCKED);
    for (ticks, (outgoing_thread, outgoing_state), incoming_thread) in [
        (100, (9, blocked), 7),
        (110, (7, running), 8),
        (140, (8, blocked), 7),
        (150, (7, running), 9),
        (155, (9, blocked), 7),
        (160, (7, blocked), 0),
        (205, (0, running), 7),
        (210, (7, blocked), 0),
        (222, (0, running), 8),
    ] {
        let (cpu, arguments) = (0, [][..].into());
        let switch = ContextSwitch {
            ticks,
            cpu,
            outgoing_state,
            outgoing_thread,
            incoming_thread,
            arguments,
        };
        writer.record(&switch.into()).unwrap();
    }
    for (ticks, thread) in [(105, 8), (200, 7), (220, 8), (230, 9)] {
        let arguments = [][..].into();
        writer.record(&ThreadWakeup { ticks, cpu: 0, thread, arguments }.into()).unwrap();
    }
    writer.provider(2, "app").unwrap();
    name(&mut writer, (ObjectType::PROCESS, 5, "app"), &[]);
    name(&mut writer, (ObjectType::THREAD, 7, "worker"), &[process(5)]);
    writer.into_inner()
}

fn name(
    writer: &mut Writer<Vec<u8>>,
    (object_type, koid, name): (ObjectType, u64, &str),
    arguments: &[Argument<'_>],
) {
    let (name, arguments) = (name.into(), arguments.into());
    writer.record(&KernelObject { object_type, koid, name, arguments }.into()).unwrap();
}

#[test]
fn a_report_of_known_records() {
    let report = read(Reader::new(&*archive())).unwrap();
    let names = |thread: u64, name: &str| json!({"process": 5, "process_name": "app", "thread": thread, "thread_name": name});
    let latency = |count: u64, p50: u64, max: u64| {
        let (p90, p99) = (max, max);
        json!({"count": count, "p50_ns": p50, "p90_ns": p90, "p99_ns": p99, "p99.9_ns": max,
            "max_ns": max})
    };
    let thread = |mut object: serde_json::Value, numbers: serde_json::Value| {
        let numbers = numbers.as_object().unwrap().clone();
        object.as_object_mut().unwrap().extend(numbers);
        object
    };
    let other = json!({"process": 0, "process_name": "", "thread": 9, "thread_name": "other"});
    let expected = json!({
        "threads": [
            // Its last turn lasts until the last record, at 230.
            thread(names(8, "app"), json!({"run_ns": 38, "runnable_ns": 7, "blocked_ns": 80,
                "turns": 2, "preempted": 0, "missing_switches": 0,
                "wakeup_latency": latency(2, 2, 5)})),
            thread(names(7, "worker"), json!({"run_ns": 30, "runnable_ns": 40, "blocked_ns": 60,
                "turns": 4, "preempted": 2, "missing_switches": 0,
                "wakeup_latency": latency(1, 5, 5)})),
        ],
        "preemptions": [
            {"thread": names(7, "worker"), "by": names(8, "app"), "count": 1, "waited_ns": 30},
            {"thread": names(7, "worker"), "by": other, "count": 1, "waited_ns": 5},
        ],
        "wakeup_latency": latency(3, 5, 5),
        "missing_switches": 0,
        "partial_threads": 1,
        "complete": true,
    });
    assert_eq!(report.to_json(), expected);
}

#[test]
fn an_archive_without_scheduling_records() {
    let report = read(Reader::new(&*crate::testing::archive(&[]))).unwrap();
    assert!(report.threads.is_empty() && report.preemptions.is_empty());
    assert_eq!(report.latency.count(), 0);
}
