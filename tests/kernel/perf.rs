//! What `perf` records at the same time.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use trace_format::layout::ThreadState;

use crate::harness::Run;
use crate::schedule::{add_switch, Step, Steps};

/// A waker that was about to end. `perf` does not name it.
const ENDED: u64 = u64::MAX;

/// Returns whether `perf` is installed and can record. Reports if it cannot.
pub(crate) fn is_usable() -> bool {
    let mut perf = Command::new("perf");
    perf.args(["record", "-a", "-e", "sched:sched_switch", "-o", "/dev/null", "true"]);
    let works = perf.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        eprintln!("skipped: requires perf");
    }
    works
}

/// Returns a command that runs another one under `perf`, whose events get times of
/// `CLOCK_MONOTONIC`.
pub(crate) fn around(data: &Path, inner: &Command) -> Command {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-m", "8M", "-o"]).arg(data);
    perf.args(["-e", "sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new", "--"]);
    perf.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => perf.env(name, value),
            None => perf.env_remove(name),
        };
    }
    perf
}

/// Returns the steps of all threads, with times in nanoseconds, and the threads whose events `perf`
/// records. Those of a sandbox's first process may be hidden from it.
pub(crate) fn steps(data: &Path) -> (Steps, BTreeSet<u64>) {
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "--show-lost-events", "-F", "tid,cpu,time,event,trace", "-i"]);
    let run = Run::of(script.arg(data));
    assert_eq!(run.code(), 0, "{run:?}");
    let (mut steps, mut threads) = (Steps::new(), BTreeSet::new());
    for line in run.stdout().lines() {
        assert!(!line.contains("PERF_RECORD_LOST"), "{line}");
        threads.extend(add(&mut steps, line));
    }
    steps.values_mut().for_each(|steps| steps.sort_by_key(|(time, _)| *time));
    (steps, threads)
}

/// Adds a line such as ` 590 [000] 51641.612037078: sched:sched_switch: prev_comm=…`. Returns its
/// thread, unless it was about to end.
fn add(steps: &mut Steps, line: &str) -> Option<u64> {
    let (place, fields) = line.split_once("sched:sched_").expect("an event of the scheduler");
    let place: Vec<&str> = place.split_whitespace().collect();
    let [thread, cpu, time] = place[..] else { panic!("{line}") };
    let cpu = cpu.trim_matches(['[', ']']).parse().expect("a CPU");
    let time = time.trim_end_matches(':').replace('.', "").parse().expect("nanoseconds");
    let field = |name: &str| {
        let at = fields.rfind(name).unwrap_or_else(|| panic!("no {name} in {line}"));
        fields[at + name.len()..].split_whitespace().next().expect("a value")
    };
    let number = |name| field(name).parse().expect("a number");
    if fields.starts_with("switch:") {
        let state = state(field(" prev_state="));
        add_switch(steps, time, cpu, (number(" prev_pid="), state, number(" next_pid=")));
        return thread.parse().ok();
    }
    let is_new = fields.starts_with("wakeup_new:");
    let by = match thread {
        _ if is_new => 0,
        "-1" => ENDED,
        thread => thread.parse().expect("a thread"),
    };
    let woken = Step::Woken { cpu: number(" target_cpu=") as u16, by };
    steps.entry(number(" pid=")).or_default().push((time, woken));
    thread.parse().ok()
}

/// Replaces the wakers that `perf` does not name.
pub(crate) fn hide_ended_wakers(ours: &mut [Step], theirs: &[Step]) {
    for (our, their) in ours.iter_mut().zip(theirs) {
        if let (Step::Woken { by, .. }, Step::Woken { by: ENDED, .. }) = (our, their) {
            *by = ENDED;
        }
    }
}

fn state(letters: &str) -> ThreadState {
    match letters.trim_end_matches('+') {
        "R" => ThreadState::RUNNING,
        "T" | "t" => ThreadState::SUSPENDED,
        "Z" => ThreadState::DYING,
        "X" | "x" => ThreadState::DEAD,
        _ => ThreadState::BLOCKED,
    }
}
