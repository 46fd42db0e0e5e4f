//! Scheduling records against the kernel's own counts, the application's events, and `perf`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use trace_format::layout::ThreadState;
use trace_format::{Reader, Record, Value};

use super::cpus::Cpus;
use super::harness::{subject_path, trace, Archive, Event, Provider, Run};
use super::schedule::{counts, interrupts, steps, Step, Steps};
use super::stolen::Stolen;
use super::{can_trace, perf, record, TRACEFS};

/// The threads of the test program.
const THREADS: usize = 10;

/// An archive of the test program's threads.
pub(crate) struct Recorded {
    pub(crate) archive: Archive,
    pub(crate) steps: Steps,
    bytes: Vec<u8>,
}

impl Recorded {
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).expect("there is an archive");
        Self { archive: Archive::parse(&bytes), steps: steps(&bytes), bytes }
    }

    pub(crate) fn provider(&self, name: &str) -> &Provider {
        let found = self.archive.providers.iter().find(|provider| provider.name == name);
        found.unwrap_or_else(|| panic!("no {name}: {:?}", self.archive.names()))
    }

    /// Returns the events of each thread of the program that records its counts.
    fn threads(&self) -> BTreeMap<u64, Vec<&Event>> {
        let mut threads = BTreeMap::<_, Vec<_>>::new();
        for event in &self.provider("subject").events {
            threads.entry(event.thread).or_default().push(event);
        }
        threads.retain(|_, events| events.iter().any(|event| event.name == "counts"));
        assert_eq!(threads.len(), THREADS);
        threads
    }

    /// Asserts that each thread has the switches that the kernel counts between its first and its
    /// last exact report.
    pub(crate) fn assert_counts(&self) {
        for (thread, events) in self.threads() {
            let exact: Vec<&Event> = events
                .windows(2)
                .filter(|pair| pair[1].name == "counts are exact")
                .map(|pair| pair[0])
                .collect();
            let [first, last] = exact[..] else { panic!("{events:?}") };
            let during = first.ticks..last.ticks;
            let steps = self.steps[&thread].iter();
            let steps = steps.filter(|(ticks, _)| during.contains(ticks)).map(|(_, step)| *step);
            let found = counts(steps);
            let counted = ["voluntary", "involuntary", "arrivals"];
            let counted = counted.map(|name| last.numbers[name] - first.numbers[name]);
            assert_eq!(found, counted, "voluntary, involuntary, arrivals of {thread}");
        }
    }

    /// Asserts that threads which wait for each other are woken up by each other.
    pub(crate) fn assert_that_threads_wake_up_each_other(&self) {
        let interrupts = interrupts(&self.bytes);
        let subject = self.provider("subject");
        for name in ["round", "pass", "turn"] {
            let threads: BTreeSet<u64> = subject.named(name).map(|event| event.thread).collect();
            let [one, other] = *Vec::from_iter(threads) else { panic!("two threads: {name}") };
            for (thread, waker) in [(one, other), (other, one)] {
                let steps = self.steps[&thread].iter();
                let by_waker = |(_, step): &&(u64, Step)| matches!(step, Step::Woken { by, .. } if *by == waker);
                let mut found = steps.filter(by_waker).peekable();
                assert!(found.peek().is_some(), "{waker} wakes up {thread}");
                let by_interrupt =
                    found.filter(|(ticks, _)| interrupts.contains_key(&(thread, *ticks)));
                // A timer can run at any time, but these threads wait for none.
                assert_eq!(by_interrupt.count(), 0, "{waker} wakes up {thread}");
            }
        }
    }

    /// Asserts that each event of the program is between a switch to its thread and the next one
    /// from it, on the right CPU.
    pub(crate) fn assert_events_are_within_turns(&self) {
        let cpus = Cpus::of(&self.steps);
        let mut number = 0;
        for (thread, events) in self.threads() {
            let steps = &self.steps[&thread];
            for event in events {
                let cpu = cpus.cpu_of(thread, event.ticks);
                let cpu = cpu.unwrap_or_else(|| panic!("{thread} is off: {event:?} {steps:?}"));
                if event.name == "moved" {
                    assert_eq!(u64::from(cpu), event.numbers["cpu"], "{event:?}");
                }
                number += 1;
            }
        }
        assert!(number > 500, "{number} events");
    }
}

fn recorded(scope: &[&str]) -> (tempfile::TempDir, Recorded) {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let options = [&["-c", "scheduled,kernel:sched"], scope].concat();
    let run = record(&output, &options, &["scheduled", ""]);
    assert!(!run.stderr().contains("dropped"), "{run:?}");
    let recorded = Recorded::read(&output);
    assert_eq!(recorded.provider("kernel").lost(), 0);
    (directory, recorded)
}

#[test]
fn switches_are_those_that_the_kernel_counts() {
    if !can_trace() {
        return;
    }
    for scope in [&[][..], &["--kernel-scope", "machine"]] {
        let (_directory, recorded) = recorded(scope);
        recorded.assert_counts();
    }
}

/// Every event of the application is between a switch to its thread and the next one from it.
#[test]
fn events_are_within_the_times_of_their_threads_on_a_cpu() {
    if !can_trace() {
        return;
    }
    // The switches before those to hidden threads are those of the machine; see `cpus`.
    let (_directory, recorded) = recorded(&["--kernel-scope", "machine"]);
    recorded.assert_events_are_within_turns();
    // The sleeper waits in each of its sleeps, and something wakes it up.
    let subject = recorded.provider("subject");
    let interrupts = interrupts(&recorded.bytes);
    let sleeps: Vec<&Event> = subject.named("sleep").collect();
    assert!(!sleeps.is_empty());
    for sleep in sleeps {
        let super::harness::Shape::Complete(end) = sleep.shape else { panic!("{sleep:?}") };
        let within = recorded.steps[&sleep.thread]
            .iter()
            .filter(|(ticks, _)| (sleep.ticks..end).contains(ticks));
        let within: Vec<Step> = within.map(|(_, step)| *step).collect();
        let blocks = |step: &Step| matches!(step, Step::Out { state: ThreadState::BLOCKED, .. });
        assert!(within.iter().any(blocks), "{within:?}");
        assert!(within.iter().any(|step| matches!(step, Step::Woken { .. })), "{within:?}");
        // It waits for nothing but a timer.
        let timer = interrupts.range((sleep.thread, sleep.ticks)..(sleep.thread, end)).next();
        assert!(timer.is_some(), "{within:?}");
    }
    recorded.assert_that_threads_wake_up_each_other();
}

/// The kernel's time of a marker is between the application's events before and after it.
#[test]
fn markers_are_between_the_events_around_them() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    let marker = format!("{TRACEFS}/trace_marker");
    if !Path::new(TRACEFS).join("options/copy_trace_marker").exists() {
        return eprintln!("skipped: requires a kernel that copies markers to instances");
    }
    // trace-cmd leaves the kernel's main buffer off, which then refuses markers.
    std::fs::write(format!("{TRACEFS}/tracing_on"), "1").unwrap();
    record(&output, &["-c", "scheduled,atrace"], &["scheduled", &marker]);
    let recorded = Recorded::read(&output);
    let subject = recorded.provider("subject");
    let times = |name: &str| -> BTreeMap<u64, u64> {
        subject.named(name).map(|event| (event.number(), event.ticks)).collect()
    };
    let (before, after) = (times("before marker"), times("after marker"));
    let mut lengths = Vec::new();
    for event in recorded.provider("kernel").named("marker") {
        let number = event.texts["text"].strip_prefix("marker ").and_then(|it| it.parse().ok());
        // Other programs may write markers, too.
        let Some(number) = number.filter(|it| before.contains_key(it)) else { continue };
        let (before, after) = (before[&number], after[&number]);
        assert!((before..=after).contains(&event.ticks), "{before} {event:?} {after}");
        lengths.push(after - before);
    }
    assert_eq!(lengths.len(), before.len());
    assert!(lengths.len() > 10);
    let rate = subject.rate;
    let shortest = rate.to_nanos(*lengths.iter().min().unwrap());
    eprintln!("the shortest time between the events around a marker is {shortest} ns");
}

/// The same switches and wake-ups as `perf` has: thread, CPU, state and the other thread.
#[test]
fn perf_records_the_same_switches_and_wakeups() {
    if !can_trace() || !perf::is_usable() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (data, output) = (directory.path().join("perf.data"), directory.path().join("t.fxt"));
    let mut inner = trace(&["record", "-c", "scheduled,kernel:sched", "-o"]);
    inner.arg(&output).arg("--").arg(subject_path()).args(["scheduled", ""]);
    let run = Run::of(&mut perf::around(&data, &inner));
    assert_eq!(run.code(), 0, "{run:?}");
    let recorded = Recorded::read(&output);
    let (perf, seen) = perf::steps(&data);
    let clock = Clock::of(&recorded.bytes);
    let is_idle_hidden = Cpus::of(&perf).has_hidden_idle();
    let mut differences = Vec::new();
    for thread in recorded.threads().keys() {
        let (mut ours, mut theirs) = (until_end(&recorded.steps[thread]), until_end(&perf[thread]));
        // `perf` has no events of interrupts that stop hidden threads; see `cpus`.
        ours.retain(|(_, step)| match step {
            Step::Woken { by, .. } => *by == 0 || seen.contains(by),
            _ => true,
        });
        // The kernel's list may lack a thread that was preempted while it ended. It gets its CPU
        // once more, or a few times.
        if matches!(ours.last(), Some((_, Step::Out { state: ThreadState::RUNNING, .. }))) {
            assert!(theirs.len() <= ours.len() + 8, "{:?}", theirs.get(ours.len()..));
            theirs.truncate(ours.len());
        }
        let pairs = perf::pairs(&ours, &theirs, is_idle_hidden);
        let pairs = pairs.unwrap_or_else(|place| {
            let around = place.saturating_sub(5)..place + 5;
            let part = |steps: &[(u64, Step)]| {
                let end = around.end.min(steps.len());
                steps.get(around.start..end).map(|steps| format!("{steps:?}"))
            };
            panic!("thread {thread}, step {place}:\n{:?}\n{:?}", part(&ours), part(&theirs));
        });
        let times = pairs.into_iter();
        differences.extend(times.map(|(our, their)| clock.monotonic(our).abs_diff(their)));
    }
    assert!(differences.len() > 500, "{} switches and wake-ups", differences.len());
    differences.sort_unstable();
    let median = differences[differences.len() / 2];
    eprintln!("{} switches and wake-ups, median difference {median} ns", differences.len());
    assert!(median < 100_000, "the clocks differ by {median} ns");
}

/// A thread that changes its own CPU is moved by a thread of the kernel, which is not the
/// command's.
#[test]
fn perf_records_the_same_migrations() {
    if !can_trace() || !perf::is_usable() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (data, output) = (directory.path().join("perf.data"), directory.path().join("t.fxt"));
    let mut inner = trace(&["record", "-c", "scheduled,kernel:sched", "--kernel-scope=machine"]);
    inner.arg("-o").arg(&output).arg("--").arg(subject_path()).args(["scheduled", ""]);
    let run = Run::of(&mut perf::around(&data, &inner));
    assert_eq!(run.code(), 0, "{run:?}");
    let recorded = Recorded::read(&output);
    let theirs = perf::migrations(&data);
    let mut number = 0;
    for thread in recorded.threads().keys() {
        let ours = recorded.provider("kernel").named("migrate").filter(|it| it.thread == *thread);
        let ours: Vec<(u64, u64)> = ours.map(|it| (it.numbers["from"], it.numbers["to"])).collect();
        let theirs = theirs.get(thread).map(Vec::as_slice).unwrap_or_default();
        assert_eq!(ours, theirs, "thread {thread}");
        number += ours.len();
    }
    assert!(number > 10, "the mover changes its CPU: {number}");
}

/// Returns the steps before the thread ends: then it is not one of the command any more.
fn until_end(steps: &[(u64, Step)]) -> Vec<(u64, Step)> {
    let ends = |step: &Step| {
        matches!(step, Step::Out { state: ThreadState::DEAD | ThreadState::DYING, .. })
    };
    steps.iter().take_while(|(_, step)| !ends(step)).copied().collect()
}

/// A child computes beside its parent and then sleeps. Prints the child's `schedstat` and its id.
const SLEEPING_CHILD: &str = r#"
(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec sleep 1000) </dev/null >/dev/null 2>&1 &
until [ "$(cat /proc/$!/comm)" = sleep ] && grep -q '^State:.S' /proc/$!/status; do :; done
cat /proc/$!/schedstat
echo $!"#;

/// The times of a thread are those of its `schedstat`, within 5 %, 1 ms and 50 µs for each turn.
/// The time on a CPU includes what a hypervisor takes, and that of `schedstat` does not.
#[test]
fn times_of_threads_are_those_that_the_kernel_counts() {
    if !can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("t.fxt");
    for _ in 0..20 {
        let mut recorder = trace(&["record", "--sched", "--kernel-scope", "machine", "-o"]);
        let stolen = Stolen::begin();
        let run = Run::of(recorder.arg(&output).args(["--", "sh", "-c", SLEEPING_CHILD]));
        let stolen = stolen.most_ns();
        assert_eq!(run.code(), 0, "{run:?}");
        let counted: Vec<u64> =
            run.stdout().split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [running, runnable, _, child] = counted[..] else { panic!("{run:?}") };
        let pid = rustix::process::Pid::from_raw(child as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::Kill).unwrap();
        let stats = Run::of(trace(&["stats", "--sched", "--json"]).arg(&output));
        let stats: serde_json::Value = serde_json::from_str(&stats.stdout()).unwrap();
        let threads = stats["threads"].as_array().unwrap();
        let times = threads.iter().find(|times| times["thread"] == child).expect("the child");
        let number = |name: &str| times[name].as_u64().unwrap();
        // Times after a hidden thread are estimates; see `cpus`.
        if number("missing_switches") > 0 {
            continue;
        }
        for (name, counted, stolen) in [("run_ns", running, stolen), ("runnable_ns", runnable, 0)] {
            let bound = counted / 20 + 1_000_000 + 50_000 * number("turns");
            let expected = counted.saturating_sub(bound)..=counted + bound + stolen;
            assert!(expected.contains(&number(name)), "{name}: {counted} counted, {times}");
        }
        return;
    }
    eprintln!("skipped: each run has a switch from a hidden thread");
}

/// The line from ticks to `CLOCK_MONOTONIC`, by the first and the last clock anchor.
struct Clock {
    anchors: [(u64, u64); 2],
}

impl Clock {
    fn of(archive: &[u8]) -> Self {
        let mut reader = Reader::new(archive);
        let mut anchors = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            let Record::Event(event) = &item.record else { continue };
            if item.text(event.name) != "clock anchor" {
                continue;
            }
            let number = |name| {
                let found = event.arguments.iter().find(|it| item.text(it.name) == name);
                match found.map(|argument| argument.value) {
                    Some(Value::Uint64(number)) => number,
                    other => panic!("{other:?}"),
                }
            };
            anchors.push((number("ticks"), number("monotonic_ns")));
        }
        let last = *anchors.last().expect("an archive has anchors");
        Self { anchors: [anchors[0], last] }
    }

    fn monotonic(&self, ticks: u64) -> u64 {
        let [first, last] = self.anchors;
        let rate = (last.1 - first.1) as f64 / (last.0 - first.0) as f64;
        (first.1 as f64 + (ticks as f64 - first.0 as f64) * rate) as u64
    }
}
