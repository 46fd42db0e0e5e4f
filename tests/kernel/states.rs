//! States of threads during single durations against the kernel's own sums.

use serde_json::Value;

use super::harness::{trace, Archive, Run};
use super::{can_trace, record};

/// How often the program is recorded, if switches from hidden threads make times estimates.
const ATTEMPTS: usize = 20;

/// A duration with the times of the kernel, in nanoseconds.
struct Part {
    what: String,
    run: u64,
    runnable: u64,
    states: Value,
    length: u64,
}

impl Part {
    fn state(&self, name: &str) -> u64 {
        self.states[name].as_u64().unwrap_or_else(|| panic!("{name}: {}", self.states))
    }

    /// Asserts that the states are those that the kernel counts, within 5 % and 2 ms.
    fn assert_states(&self) {
        let blocked = self.length.saturating_sub(self.run + self.runnable);
        let expected =
            [("run_ns", self.run), ("runnable_ns", self.runnable), ("blocked_ns", blocked)];
        for (name, counted) in expected {
            let difference = self.state(name).abs_diff(counted);
            let bound = counted / 20 + 2_000_000;
            assert!(
                difference <= bound,
                "{} {name}: {counted} counted, {}",
                self.what,
                self.states
            );
        }
        let sum: u64 = expected.iter().map(|(name, _)| self.state(name)).sum();
        assert_eq!(sum + self.state("unknown_ns"), self.length, "{}", self.states);
    }
}

/// Returns the durations of a recording, and the thread that competes with theirs, unless a switch
/// of theirs is missing.
fn recorded() -> Option<(Vec<Part>, u64)> {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let run = record(&output, &["-c", "waits,kernel:sched"], &["waits"]);
    assert!(!run.stderr().contains("dropped"), "{run:?}");
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
        run: times["run"],
        runnable: times["runnable"],
        states: part["states"].clone(),
        length: part["length_ns"].as_u64().unwrap(),
    });
    Some((parts.collect(), rival["thread"].as_u64().unwrap()))
}

#[test]
fn states_of_durations_are_those_that_the_kernel_counts() {
    if !can_trace() {
        return;
    }
    let Some((parts, rival)) = (0..ATTEMPTS).find_map(|_| recorded()) else {
        return eprintln!("skipped: each run has a switch from a hidden thread");
    };
    parts.iter().for_each(Part::assert_states);
    // On a busy machine, some of them wait for other threads in addition.
    let has = |what: &str, is_cause: &dyn Fn(&Value) -> bool| {
        let mut waits = parts.iter().filter(|part| part.what == what);
        assert!(
            waits.any(|part| is_cause(&part.states["longest_wait"])),
            "{what}: {:?}",
            parts.iter().map(|part| part.states.to_string()).collect::<Vec<_>>()
        );
    };
    let is_rival = |thread: &Value| thread["thread"] == rival;
    has("sleep", &|wait| wait["reason"] == "blocked" && wait["interrupt"] == "hard");
    has("wait", &|wait| wait["reason"] == "blocked" && is_rival(&wait["by"]));
    has("compete", &|wait| wait["reason"] == "preempted" && is_rival(&wait["by"]));
    has("compete", &|wait| wait["reason"] == "preempted" && is_rival(&wait["last_by"]));
    let is_shared = |part: &Part| part.state("runnable_ns") > part.length / 4;
    assert!(parts.iter().any(|part| part.what == "compete" && is_shared(part)));
}
