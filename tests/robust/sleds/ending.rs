//! Recordings that end while threads are in functions with sleds.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{kill_process, Pid, Signal};

use super::built;
use crate::harness::{trace, wait_until, Archive, Provider, Run, Shape, MODES};

/// A recording of threads that call functions for ever.
struct Recording {
    record: Child,
    /// The recorded process.
    program: Pid,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Recording {
    /// Returns when all threads have called functions a thousand times.
    fn start(mode: &str, archive: &Path) -> Self {
        let mut record = trace(&["record", "--xray", "--functions", FUNCTIONS, "-m", mode]);
        record
            .args(["-b", "64M", "-o"])
            .arg(archive)
            .arg("--")
            .arg(&built().program)
            .arg("endless");
        record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut record = record.spawn().unwrap();
        let input = record.stdin.take().unwrap();
        let mut output = BufReader::new(record.stdout.take().unwrap());
        let pid = line(&mut output).parse().ok().and_then(Pid::from_raw);
        assert_eq!(line(&mut output), "sled on");
        Self { record, program: pid.unwrap(), input, output }
    }

    /// Returns whether the sleds are on, when all threads have called functions another thousand
    /// times.
    fn is_on(&mut self) -> bool {
        self.input.write_all(b"\n").unwrap();
        match line(&mut self.output).as_str() {
            "sled on" => true,
            "sled off" => false,
            other => panic!("{other}"),
        }
    }
}

fn line(output: &mut impl BufRead) -> String {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

const FUNCTIONS: &str = "main::unending,main::middle,main::inner,main::rest";

/// Checks that calls are inside of each other, and that those without an end are those in which a
/// thread can be. Returns how many they are.
#[track_caller]
fn check_calls(provider: &Provider, context: &str) -> usize {
    let mut threads: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for event in provider.events.iter().filter(|event| event.shape != Shape::Instant) {
        threads.entry(event.thread).or_default().push(event);
    }
    assert_eq!(threads.len(), 3, "{context}");
    let mut open_calls = 0;
    for events in threads.values() {
        // The end, or none, of each call that is around the next one, and its name.
        let mut around: Vec<(Option<u64>, &str)> = Vec::new();
        for event in events {
            while around.last().is_some_and(|(end, _)| end.is_some_and(|end| end <= event.ticks)) {
                around.pop();
            }
            match event.shape {
                Shape::Begin => around.push((None, &event.name)),
                Shape::Complete(end) => {
                    let limit = around.last().and_then(|(end, _)| *end).unwrap_or(u64::MAX);
                    assert!(
                        event.ticks <= end && end <= limit,
                        "{context}: {event:?} in {around:?}"
                    );
                    around.push((Some(end), &event.name));
                }
                Shape::End => {
                    let begun = around.pop();
                    assert_eq!(begun, Some((None, &*event.name)), "{context}: {event:?}");
                }
                shape => panic!("{context}: {shape:?}"),
            }
        }
        let open: Vec<_> =
            around.iter().filter(|(end, _)| end.is_none()).map(|(_, name)| *name).collect();
        assert!(OPEN.contains(&&open[..]), "{context}: {open:?}");
        open_calls += open.len();
    }
    open_calls
}

/// In which functions a thread can be.
const OPEN: [&[&str]; 4] = [
    &["main::unending"],
    &["main::unending", "main::rest"],
    &["main::unending", "main::middle"],
    &["main::unending", "main::middle", "main::inner"],
];

/// Checks the archive, and that commands report the calls without an end.
#[track_caller]
fn check(archive: &Path, context: &str) {
    let content = Archive::read(archive);
    let provider = content.only();
    assert_eq!(provider.lost(), 0, "{context}");
    let open = check_calls(provider, context);
    let run = Run::of(trace(&["check"]).arg(archive));
    let line = format!("durations without an end: {open}\n");
    assert!(run.stdout().contains(&line), "{context}, {line}: {run:?}");
    let log = archive.with_extension("xray");
    let run = Run::of(trace(&["convert"]).arg(archive).arg("-o").arg(&log));
    assert_eq!(run.code(), 0, "{context}: {run:?}");
    let line = format!("durations without an end, written as entries: {open}\n");
    assert!(run.stderr().contains(&line), "{context}, {line}: {run:?}");
    assert!(!run.stderr().contains("without a begin"), "{context}: {run:?}");
}

/// The process that completes the archive then has the same records.
#[test]
fn sleds_are_off_after_the_death_of_the_manager() {
    for mode in MODES {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("app.fxt");
        let mut recording = Recording::start(mode, &archive);
        assert!(recording.is_on());
        recording.record.kill().unwrap();
        recording.record.wait().unwrap();
        wait_until("sleds are off", || !recording.is_on());
        wait_until("the archive is complete", || archive.exists());
        check(&archive, mode);
        assert!(!recording.is_on(), "{mode}");
        kill_process(recording.program, Signal::Kill).unwrap();
    }
}

#[test]
fn open_calls_of_a_killed_program_are_reported() {
    for mode in MODES {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("app.fxt");
        let mut recording = Recording::start(mode, &archive);
        assert!(recording.is_on());
        kill_process(recording.program, Signal::Kill).unwrap();
        recording.record.wait().unwrap();
        check(&archive, mode);
    }
}
