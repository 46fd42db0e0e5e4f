//! The offset between the clock of an application and that of the kernel's events, by what a thread
//! does between two of its events: a marker that it writes, or a name that it gets.
//!
//! ```text
//! application   before            after         the kernel's time is between them if the clocks
//! kernel                 event                  are the same: before ≤ event ≤ after
//! ```
//!
//! All pairs together bound the offset from both sides: it is at least the largest `event - after`
//! and at most the smallest `event - before`.

use std::path::Path;
use std::process::Command;

use super::harness::{subject_path, trace, Archive, Provider, Run};
use super::sources::{can_run, Place, PERFMON};
use super::{can_trace, TRACEFS};

/// An event of the kernel between two of the application, in nanoseconds from the first one.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    event: i64,
    length: i64,
}

impl Bracket {
    /// Returns how far the event is from the middle.
    fn distance(self) -> i64 {
        (self.event - self.length / 2).abs()
    }
}

/// Returns the brackets of the kernel's events of this name, whose number is behind the prefix of
/// an argument.
fn brackets(archive: &Archive, (name, argument, prefix): (&str, &str, &str)) -> Vec<Bracket> {
    let provider = |name: &str| archive.providers.iter().find(|it| it.name == name).unwrap();
    let (subject, kernel) = (provider("subject"), provider("kernel"));
    let ticks = |name: &str, number: u64| {
        let mut events = subject.named(name);
        events.find(|event| event.number() == number).map(|event| event.ticks)
    };
    let found = kernel.named(name).filter_map(|event| {
        let number = event.texts.get(argument)?.strip_prefix(prefix)?.parse().ok()?;
        let (before, after) = (ticks("before", number)?, ticks("after", number)?);
        let nanos = |ticks: u64| nanos_since(subject, before, ticks);
        Some(Bracket { event: nanos(event.ticks), length: nanos(after) })
    });
    found.collect()
}

/// Returns the nanoseconds between two times, negative if the second one is earlier.
fn nanos_since(provider: &Provider, before: u64, ticks: u64) -> i64 {
    let nanos = provider.rate.to_nanos(ticks.abs_diff(before)) as i64;
    if ticks < before {
        -nanos
    } else {
        nanos
    }
}

/// Prints the bounds of the offset. Returns the least and the greatest one in nanoseconds.
fn bounds(brackets: &[Bracket], clock: &str) -> (i64, i64) {
    assert!(brackets.len() > 50, "{} brackets", brackets.len());
    let least = brackets.iter().map(|it| it.event - it.length).max().unwrap();
    let greatest = brackets.iter().map(|it| it.event).min().unwrap();
    let shortest = brackets.iter().map(|it| it.length).min().unwrap();
    let mut distances: Vec<i64> = brackets.iter().map(|it| it.distance()).collect();
    distances.sort_unstable();
    let median = distances[distances.len() / 2];
    eprintln!(
        "{clock}: the offset is between {least} and {greatest} ns by {} brackets, of which the \
         shortest has {shortest} ns; the median distance from the middle is {median} ns",
        brackets.len()
    );
    (least, greatest)
}

/// The clock of the instance is that of applications, so each event is in its bracket.
#[test]
fn markers_bound_the_offset_of_the_same_clock() {
    if !can_trace() {
        return;
    }
    if !Path::new(TRACEFS).join("options/copy_trace_marker").exists() {
        return eprintln!("skipped: this kernel does not copy markers to instances");
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    // trace-cmd leaves the kernel's main buffer off, which then refuses markers.
    std::fs::write(format!("{TRACEFS}/tracing_on"), "1").unwrap();
    let mut record = trace(&["record", "-c", "offsets,atrace,kernel:tasks", "-o"]);
    record.arg(&output).arg("--").arg(subject_path());
    let run = Run::of(record.args(["offsets", &format!("{TRACEFS}/trace_marker")]));
    assert_eq!(run.code(), 0, "{run:?}");
    let archive = Archive::read(&output);
    for (of, clock) in [
        (("marker", "text", "n"), "markers, clock of applications"),
        (("rename", "name", "n"), "names, clock of applications"),
    ] {
        let (least, greatest) = bounds(&brackets(&archive, of), clock);
        assert!(least <= 0 && 0 <= greatest, "{clock}: {least} {greatest}");
    }
}

/// Times of `CLOCK_MONOTONIC_RAW` are converted. Most events are as near to the middle of their
/// bracket as it is long.
#[test]
fn names_bound_the_offset_of_a_converted_clock() {
    if !can_run(&PERFMON) {
        return;
    }
    let place = Place::new();
    let mut record = Command::new(PERFMON[0]);
    record.args(&PERFMON[1..]).arg(place.path("trace")).env("TRACE_CONFIG", "");
    record.args(["record", "-c", "offsets,kernel:tasks", "-o"]).arg(place.output()).arg("--");
    record.arg(place.path("subject")).args(["offsets", ""]).env_remove("XDG_RUNTIME_DIR");
    let run = Run::of(record.current_dir(place.directory.path()));
    assert_eq!(run.code(), 0, "{run:?}");
    if run.stderr().contains("samples of /proc") {
        return super::lacks("perf events");
    }
    let brackets = brackets(&Archive::read(&place.output()), ("rename", "name", "n"));
    bounds(&brackets, "names, CLOCK_MONOTONIC_RAW");
    let near = brackets.iter().filter(|it| it.distance() <= it.length).count();
    assert!(near * 2 > brackets.len(), "{near} of {}", brackets.len());
}
