//! The categories of the kernel's other events: each has some, if the kernel has its events.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;

use trace_format::{Reader, Record, Value};

use super::harness::{subject_path, trace, Archive, Provider, Run, Shape};
use super::{can_trace, TRACEFS};

/// Returns whether this kernel has one of these events. Reports if it has none.
fn has_event(events: &[&str]) -> bool {
    let has = events.iter().any(|event| Path::new(TRACEFS).join("events").join(event).exists());
    if !has {
        eprintln!("skipped: this kernel has none of the events {}", events.join(", "));
    }
    has
}

/// Records a category while a shell runs a script in a directory on a disk. Returns
/// the archive's bytes.
fn recorded(category: &str, scope: &[&str], script: &str) -> Vec<u8> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = directory.path().join("t.fxt");
    let mut command = trace(&["record", "-c", category]);
    command.args(scope).arg("-o").arg(&output).args(["--", "bash", "-c", script]);
    let run = Run::of(command.arg(subject_path()).current_dir(directory.path()));
    assert_eq!(run.code(), 0, "{run:?}");
    fs::read(output).unwrap()
}

/// Records a category of the whole machine.
fn of_machine(category: &str, script: &str) -> Archive {
    Archive::parse(&recorded(category, &["--kernel-scope=machine"], script))
}

/// Returns the number of events of a name in a category.
fn count(kernel: &Provider, category: &str, name: &str) -> usize {
    kernel.named(name).filter(|event| event.category == category).count()
}

#[test]
fn interrupts_are_durations_of_their_cpus() {
    let events = ["irq/softirq_entry", "irq/softirq_exit"];
    if !can_trace() || !has_event(&events) {
        return;
    }
    let archive = of_machine("kernel:irq", "for i in 1 2 3 4 5 6 7 8; do sleep 0.02; done");
    let kernel = archive.only();
    let mut number = 0;
    for event in kernel.events.iter().filter(|event| event.category == "kernel:irq") {
        if let Shape::Complete(end) = event.shape {
            assert!(event.ticks <= end, "{event:?}");
            assert!(kernel.thread_names[&event.thread][0].starts_with("CPU "), "{event:?}");
            number += 1;
        }
    }
    assert!(number > 0, "timers end sleeps");
    assert!(kernel.count("TIMER") + kernel.count("HRTIMER") + kernel.count("SCHED") > 0);
}

#[test]
fn page_faults_are_those_of_the_command() {
    if !can_trace() || !has_event(&["exceptions/page_fault_user"]) {
        return;
    }
    let bytes = recorded("kernel:memory", &[], "true");
    let archive = Archive::parse(&bytes);
    let kernel = archive.only();
    assert!(count(kernel, "kernel:memory", "page_fault_user") > 20);
    let fault = kernel.named("page_fault_user").next().unwrap();
    assert!(fault.process != 0, "{fault:?}");
    if !has_event(&["kmem/rss_stat"]) {
        return;
    }
    let memory = kernel.named("resident memory").filter(|it| it.category == "kernel:memory");
    let of_command = memory.filter(|it| it.process == fault.process);
    let number = of_command.inspect(|it| assert_eq!(it.thread, it.process, "{it:?}")).count();
    assert!(number > 0, "faults change the memory of the process");
}

/// The memory that a program fills.
const FILLED: i64 = 20 << 20;

/// `tail` keeps what it may have to print.
#[test]
fn memory_of_a_process_has_what_it_fills() {
    if !can_trace() || !has_event(&["kmem/rss_stat"]) {
        return;
    }
    let fill = format!("head -c {FILLED} /dev/zero | tail -c {FILLED} >/dev/null");
    let bytes = recorded("kernel:memory", &[], &fill);
    let (mut reader, mut most) = (Reader::new(&bytes[..]), 0);
    while let Some(item) = reader.next().unwrap() {
        let Record::Event(event) = &item.record else { continue };
        for argument in event.arguments.iter() {
            if let ("anonymous_bytes", Value::Int64(number)) =
                (&*item.text(argument.name), argument.value)
            {
                most = most.max(number);
            }
        }
    }
    assert!((FILLED..2 * FILLED).contains(&most), "{most}");
}

#[test]
fn requests_to_disks() {
    if !can_trace() || !has_event(&["block/block_rq_issue"]) {
        return;
    }
    let write = "dd if=/dev/zero of=file bs=64K count=4 conv=fsync status=none";
    let archive = of_machine("kernel:block", write);
    let kernel = archive.only();
    if kernel.count("block_rq_issue") == 0 {
        return eprintln!("skipped: {} is on no disk", env!("CARGO_TARGET_TMPDIR"));
    }
    let request = kernel.named("block_rq_issue").next().unwrap();
    assert!(request.numbers.contains_key("sector"), "{request:?}");
    assert!(count(kernel, "kernel:block", "block_rq_complete") > 0);
}

#[test]
fn packets_of_the_machine() {
    if !can_trace() || !has_event(&["net/net_dev_queue"]) {
        return;
    }
    let send = "for i in 1 2 3 4; do echo $i > /dev/udp/127.0.0.1/9 || exit 0; done";
    let archive = of_machine("kernel:net", send);
    let kernel = archive.only();
    let packets = kernel.named("net_dev_queue").filter(|packet| packet.texts["name"] == "lo");
    let is_on = UdpSocket::bind("127.0.0.1:0").and_then(|it| it.send_to(b"1", "127.0.0.1:9"));
    assert_eq!(packets.count() > 0, is_on.is_ok(), "{is_on:?}");
}

#[test]
fn idle_states_of_cpus() {
    if !can_trace() || !has_event(&["power/cpu_idle"]) {
        return;
    }
    let archive = of_machine("kernel:power", "sleep 0.2");
    let kernel = archive.only();
    if kernel.count("cpu_idle") == 0 {
        // Idle threads of virtual machines may have no events, or never stop their CPUs.
        return eprintln!("skipped: the CPUs of this machine report no idle states");
    }
    let state = kernel.named("cpu_idle").next().unwrap();
    assert!(state.numbers.contains_key("state"), "{state:?}");
}

/// Returns the texts of the log records of the kernel.
fn logs(bytes: &[u8]) -> Vec<String> {
    let (mut reader, mut logs) = (Reader::new(bytes), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        if let Record::Log(log) = &item.record {
            logs.push(String::from_utf8_lossy(log.message).into_owned());
        }
    }
    logs
}

#[test]
fn lines_of_the_kernels_log_are_log_records() {
    if !can_trace() || !has_event(&["printk/console"]) {
        return;
    }
    let line = "trace test of the kernel's log";
    let bytes = recorded("kernel:log", &[], &format!("echo \"<6>{line}\" > /dev/kmsg"));
    let found = logs(&bytes);
    assert!(found.iter().any(|log| log.contains(line)), "{found:?}");
    assert_eq!(Archive::parse(&bytes).only().count("console"), 0, "it is no instant");
}
