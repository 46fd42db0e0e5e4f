//! States of threads during single durations against the kernel's own sums.

use std::ops::Range;

use serde_json::Value;

use super::harness::{trace, Archive, Run};
use super::stolen::Stolen;
use super::{can_trace, record};

/// How often the program is recorded, if switches from hidden threads make times estimates, a
/// hypervisor takes time, or other programs cause all waits.
const ATTEMPTS: usize = 20;

/// A duration with the times of the kernel, in nanoseconds.
struct Part {
    what: String,
    run: Range<u64>,
    runnable: Range<u64>,
    /// The time that a hypervisor took from any CPU.
    stolen: u64,
    states: Value,
    length: u64,
}

impl Part {
    fn state(&self, name: &str) -> u64 {
        self.states[name].as_u64().unwrap_or_else(|| panic!("{name}: {}", self.states))
    }

    /// Returns a difference between the states and those that the kernel counts, of more than 5 %
    /// and 2 ms. The time on a CPU includes what a hypervisor takes, and that of the kernel does
    /// not.
    fn difference(&self) -> Option<String> {
        let rest = |run: u64, runnable: u64| self.length.saturating_sub(run + runnable);
        let is_blocked = matches!(&*self.what, "sleep" | "wait");
        let (most_run, blocked) = match is_blocked {
            true => {
                let most_run = self.run.end + self.stolen;
                let blocked =
                    rest(most_run, self.runnable.end)..rest(self.run.start, self.runnable.start);
                (most_run, blocked)
            }
            // All the rest is time on a CPU.
            false => (rest(0, self.runnable.start), 0..0),
        };
        let least_run = if is_blocked { self.run.start } else { rest(0, self.runnable.end) };
        let expected = [
            ("run_ns", least_run.max(self.run.start)..most_run),
            ("runnable_ns", self.runnable.clone()),
            ("blocked_ns", blocked),
            ("unknown_ns", 0..0),
        ];
        let sum: u64 = expected.iter().map(|(name, _)| self.state(name)).sum();
        assert_eq!(sum, self.length, "{}", self.states);
        let differs = |(name, counted): &(&str, Range<u64>)| {
            let bound = |counted: u64| match *name {
                "unknown_ns" => 0,
                _ => counted / 20 + 2_000_000,
            };
            let least = counted.start.saturating_sub(bound(counted.start));
            !(least..=counted.end + bound(counted.end)).contains(&self.state(name))
        };
        let (name, counted) = expected.into_iter().find(differs)?;
        let Self { what, length, states, .. } = self;
        Some(format!("{what} of {length} ns: {name} is {counted:?} by the kernel, {states}"))
    }
}

/// What was recorded.
struct Recording {
    parts: Vec<Part>,
    /// The thread that competes with that of the parts.
    rival: u64,
    has_stolen: bool,
}

/// Records the program, unless a switch of the worker is missing.
fn recorded() -> Option<Recording> {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let stolen = Stolen::begin();
    let run = record(&output, &["-c", "waits,kernel:sched"], &["waits"]);
    let has_stolen = stolen.is_seen();
    assert!(!run.stderr().contains("dropped"), "{run:?}");
    let summary = run.stderr();
    for provider in ["subject (", "kernel ("] {
        let mut lines = summary.lines().filter(|line| line.contains(provider));
        assert!(lines.any(|line| line.contains(", 0 lost")), "{run:?}");
    }
    let json = |options: &[&str]| -> Value {
        let run = Run::of(trace(&["stats", "--json"]).args(options).arg(&output));
        assert_eq!(run.code(), 0, "{run:?}");
        serde_json::from_str(&run.stdout()).unwrap()
    };
    let threads = json(&["--sched"]);
    let of = |name: &str| {
        let threads = threads["threads"].as_array().unwrap();
        threads.iter().find(|times| times["thread_name"] == name).expect("a thread").clone()
    };
    let (worker, rival) = (of("worker"), of("rival"));
    if worker["missing_switches"].as_u64().unwrap() > 0 {
        return None;
    }
    let mut parts = json(&["--slowest", "100", "-n", "part"]).as_array().unwrap().clone();
    parts.sort_by_key(|part| part["begin_ns"].as_u64());
    let archive = Archive::read(&output);
    let subject = archive.providers.iter().find(|it| it.name == "subject").unwrap();
    let times: Vec<_> = subject.named("times").map(|event| &event.numbers).collect();
    assert_eq!((parts.len(), times.len()), (20, 20));
    let parts = parts.iter().zip(times).map(|(part, times)| Part {
        what: part["arguments"]["what"].as_str().unwrap().to_owned(),
        run: times["least_run"]..times["most_run"],
        runnable: times["least_runnable"]..times["most_runnable"],
        stolen: times["stolen"],
        states: part["states"].clone(),
        length: part["length_ns"].as_u64().unwrap(),
    });
    let (parts, rival) = (parts.collect(), rival["thread"].as_u64().unwrap());
    Some(Recording { parts, rival, has_stolen })
}

/// Returns what no part has as its longest wait. Other programs may run longer.
fn missing_wait(Recording { parts, rival, .. }: &Recording) -> Option<&'static str> {
    let is_rival = |thread: &Value| thread["thread"] == *rival;
    let waits = |what: &str, reason: &str, is_cause: &dyn Fn(&Value) -> bool| {
        let mut waits = parts.iter().filter(|part| part.what == what);
        waits.any(|part| {
            let wait = &part.states["longest_wait"];
            wait["reason"] == reason && is_cause(wait)
        })
    };
    let is_shared = |part: &Part| part.state("runnable_ns") > part.length / 4;
    let by_rival = |wait: &Value| is_rival(&wait["by"]);
    let last_by_rival = |wait: &Value| is_rival(&wait["last_by"]);
    let found = [
        ("a sleep", waits("sleep", "blocked", &|wait| wait["interrupt"] == "hard")),
        ("a wait for the rival", waits("wait", "blocked", &by_rival)),
        ("a preemption by the rival", waits("compete", "preempted", &by_rival)),
        ("the rival as the last before it", waits("compete", "preempted", &last_by_rival)),
        ("a shared CPU", parts.iter().any(|part| part.what == "compete" && is_shared(part))),
    ];
    found.into_iter().find_map(|(what, is_found)| (!is_found).then_some(what))
}

#[test]
fn states_of_durations_are_those_that_the_kernel_counts() {
    if !can_trace() {
        return;
    }
    let mut reason = String::new();
    for _ in 0..ATTEMPTS {
        let Some(recording) = recorded() else { continue };
        let difference = recording.parts.iter().find_map(Part::difference);
        assert!(difference.is_none() || recording.has_stolen, "{difference:?}");
        let missing = || missing_wait(&recording).map(|what| format!("no part has {what}"));
        match difference.or_else(missing) {
            None => return,
            Some(found) => reason = found,
        }
    }
    assert!(reason.is_empty(), "{reason}, in {ATTEMPTS} recordings");
    eprintln!("skipped: each run has a switch from a hidden thread");
}
