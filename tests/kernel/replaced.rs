//! Processes whose first thread is replaced: another one executes a program, and gets its id.

use std::path::Path;
use std::process::Command;

use trace_format::layout::ObjectType;
use trace_format::{Reader, Record, Value};

use super::can_trace;
use super::harness::{subject_path, trace, Archive, Run};
use super::sources::{can_run, Place, PERFMON};

/// The program that the thread executes: it waits for some rounds of the helper, and then starts
/// `CHILDREN` programs.
const SCRIPT: &str = "sleep 0.4; i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done";

/// The programs after the first.
const CHILDREN: usize = 20;

/// What an archive has about the command.
#[derive(Debug, Default)]
struct Found {
    /// The last name of each thread, and whether its events are partial.
    threads: std::collections::BTreeMap<u64, (String, bool)>,
    /// The threads that CPUs have switched to.
    switches: Vec<u64>,
}

fn found(archive: &Path) -> Found {
    let bytes = std::fs::read(archive).unwrap();
    let (mut reader, mut found) = (Reader::new(&bytes[..]), Found::default());
    while let Some(item) = reader.next().unwrap() {
        match &item.record {
            Record::KernelObject(object) if object.object_type == ObjectType::THREAD => {
                let is_partial = object.arguments.iter().any(|it| it.value == Value::Bool(true));
                let name = item.text(object.name).into_owned();
                found.threads.insert(object.koid, (name, is_partial));
            }
            Record::ContextSwitch(switch) => found.switches.push(switch.incoming_thread),
            _ => {}
        }
    }
    found
}

/// Asserts that the process and the programs that it starts are recorded. Returns the process.
fn assert_whole(found: &Found) -> u64 {
    let named = |of: &'static str| found.threads.iter().filter(move |(_, (name, _))| name == of);
    let whole = named("sleep").filter(|(_, (_, is_partial))| !is_partial).count();
    assert!(whole >= CHILDREN, "{:?}", found.threads);
    // Other shells of the machine may run before and after the command.
    let shells = named("sh").filter(|(_, (_, is_partial))| !is_partial);
    let shells: Vec<u64> = shells.map(|(thread, _)| *thread).collect();
    let [shell] = shells[..] else { panic!("{:?}", found.threads) };
    let turns = found.switches.iter().filter(|thread| **thread == shell).count();
    assert!(turns >= CHILDREN, "{turns} turns of {shell}");
    shell
}

#[test]
fn tracefs_follows_a_process_whose_first_thread_is_replaced() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let mut record = trace(&["record", "--strict", "-c", "kernel:sched,kernel:syscall", "-o"]);
    record.arg(&output).arg("--").arg(subject_path()).args(["exec-by-thread", SCRIPT]);
    let run = Run::of(&mut record);
    assert_eq!(run.code(), 0, "{run:?}");
    let shell = assert_whole(&found(&output));
    let archive = Archive::read(&output);
    let calls = archive.only().events.iter().filter(|event| event.category == "kernel:syscall");
    let of_shell = calls.filter(|call| call.thread == shell);
    assert!(of_shell.count() >= CHILDREN);
}

#[test]
fn perf_events_follow_a_process_whose_first_thread_is_replaced() {
    if !can_run(&PERFMON) {
        return;
    }
    let place = Place::new();
    let mut record = Command::new(PERFMON[0]);
    record.args(&PERFMON[1..]).arg(place.path("trace")).env("TRACE_CONFIG", "");
    record.args(["record", "--sched", "--strict", "-o"]).arg(place.output());
    record.arg("--").arg(place.path("subject")).args(["exec-by-thread", SCRIPT]);
    record.env_remove("XDG_RUNTIME_DIR").current_dir(place.directory.path());
    let run = Run::of(&mut record);
    if run.stderr().contains("samples of /proc") {
        return super::lacks("perf events");
    }
    assert_eq!(run.code(), 0, "{run:?}");
    assert_whole(&found(&place.output()));
}
