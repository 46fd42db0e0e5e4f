//! CPUs that go offline and return during a recording. The tests take a CPU from all other
//! programs, and therefore run alone: `.ci/kernel` selects them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use trace_format::{Reader, Record};

use super::can_trace;
use super::harness::{subject_path, trace, Archive, Run};
use super::sources::{can_run, Place, PERFMON};

/// Several rounds of the helper.
const ROUNDS: Duration = Duration::from_millis(400);

/// The number of the CPU, which is not the first.
const CPU: u16 = 1;

/// The file that takes the CPU offline.
const ONLINE: &str = "/sys/devices/system/cpu/cpu1/online";

/// Programs that CPU 1 switches to.
const LOAD: &str = "for turn in 1 2 3 4 5 6 7 8 9 10; do taskset -c 1 true; done";

/// A CPU that is offline. It returns when this is dropped.
struct Offline;

impl Offline {
    /// Takes the CPU offline, if this process may.
    fn take() -> Option<Self> {
        match fs::write(ONLINE, "0") {
            Ok(()) => Some(Self),
            Err(error) => {
                eprintln!("skipped: {ONLINE}: {error}");
                None
            }
        }
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        // The kernel may be busy with it. A second panic would hide the first.
        for _ in 0..50 {
            match fs::write(ONLINE, "1") {
                Ok(()) => return,
                Err(error) => eprintln!("{ONLINE}: {error}"),
            }
            sleep(Duration::from_millis(100));
        }
    }
}

/// Starts a recording of all threads, until the standard input of its command is closed.
fn start(command: &mut Command) -> Child {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut recorder = streams.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(recorder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    recorder
}

/// Runs programs on the CPU, and ends the recording.
fn end(mut recorder: Child) -> Run {
    sleep(ROUNDS);
    assert!(Command::new("sh").args(["-c", LOAD]).status().unwrap().success());
    drop(recorder.stdin.take());
    Run::end_of(recorder)
}

/// Returns the number of switches of the CPU after these ticks.
fn switches_after(archive: &Path, ticks: u64) -> usize {
    let bytes = fs::read(archive).unwrap();
    let (mut reader, mut number) = (Reader::new(&bytes[..]), 0);
    while let Some(item) = reader.next().unwrap() {
        if let Record::ContextSwitch(switch) = &item.record {
            number += usize::from(switch.cpu == CPU && switch.ticks > ticks);
        }
    }
    number
}

#[test]
#[ignore = "takes a CPU offline"]
fn tracefs_records_a_cpu_that_comes_online() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let Some(offline) = Offline::take() else { return };
    let mut record = trace(&["record", "--sched", "--strict", "--kernel-scope=machine", "-o"]);
    let recorder = start(record.arg(&output).arg("--").arg(subject_path()).arg("chatter"));
    // Its pages cannot be read so far.
    sleep(ROUNDS);
    drop(offline);
    let run = end(recorder);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(switches_after(&output, 0) >= 10);
}

#[test]
#[ignore = "takes a CPU offline"]
fn counters_go_on_after_their_cpu_returns() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let options = ["record", "-c", "cpu:counter:context-switches", "--kernel-scope=machine", "-o"];
    let recorder = start(trace(&options).arg(&output).arg("--").arg(subject_path()).arg("chatter"));
    sleep(ROUNDS);
    let offline = Offline::take();
    sleep(ROUNDS);
    let is_taken = offline.is_some();
    drop(offline);
    let run = end(recorder);
    if !is_taken {
        return;
    }
    assert!(run.stderr().contains("CPU 1 came online"), "{run:?}");
    let archive = Archive::read(&output);
    let kernel = archive.providers.iter().find(|provider| provider.name == "kernel").unwrap();
    let is_of_cpu = |thread: u64| kernel.thread_names[&thread].contains(&format!("CPU {CPU}"));
    let readings = kernel.named("context-switches").filter(|event| is_of_cpu(event.thread));
    let counts: Vec<u64> = readings.map(|it| *it.numbers.values().next().unwrap()).collect();
    assert!(counts.is_sorted(), "{counts:?}");
    let last = counts[counts.len() - 1];
    let at_rest = counts.windows(4).find(|counts| counts[0] > 0 && counts[0] == counts[3]);
    assert!(at_rest.is_some_and(|counts| counts[0] + 10 <= last), "{counts:?}");
}

#[test]
#[ignore = "takes a CPU offline"]
fn perf_events_return_with_their_cpu() {
    if !can_run(&PERFMON) {
        return;
    }
    let place = Place::new();
    let mut record = Command::new(PERFMON[0]);
    record.args(&PERFMON[1..]).arg(place.path("trace")).env("TRACE_CONFIG", "");
    record.args(["record", "--sched", "--strict", "--kernel-scope=machine", "-o"]);
    record.arg(place.output()).arg("--").arg(place.path("subject")).arg("chatter");
    record.env_remove("XDG_RUNTIME_DIR").current_dir(place.directory.path());
    let recorder = start(&mut record);
    let offline = Offline::take();
    sleep(ROUNDS);
    let is_taken = offline.is_some();
    drop(offline);
    let run = end(recorder);
    if !is_taken {
        return;
    }
    assert_eq!(run.code(), 3, "{run:?}");
    assert!(run.stderr().contains("CPU 1 came online"), "{run:?}");
    let archive = Archive::read(&place.output());
    let kernel = archive.providers.iter().find(|provider| provider.name == "kernel").unwrap();
    assert_eq!(kernel.lost["CPU came online: at least one"], 1, "{:?}", kernel.lost);
    assert!(switches_after(&place.output(), kernel.losses[0].numbers["to"]) >= 10);
}
