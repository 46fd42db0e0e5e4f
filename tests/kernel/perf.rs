//! What `perf` records at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use trace_format::layout::ThreadState;

use crate::harness::Run;
use crate::schedule::{add_switch, Step, Steps};

/// A waker that was about to end. `perf` does not name it.
const ENDED: u64 = u64::MAX;

/// The event of a thread that moves to another CPU.
const MIGRATE: &str = "sched:sched_migrate_task";

/// Returns whether `perf` is installed and can record. Reports if it cannot.
pub(crate) fn is_usable() -> bool {
    let mut perf = Command::new("perf");
    perf.args(["record", "-a", "-e", "sched:sched_switch", "-o", "/dev/null", "true"]);
    let works = perf.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        super::lacks("perf");
    }
    works
}

/// Returns a command that runs another one under `perf`, whose events get times of
/// `CLOCK_MONOTONIC`.
pub(crate) fn around(data: &Path, inner: &Command) -> Command {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-m", "8M", "-o"]).arg(data);
    perf.args(["-e", "sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new"]);
    perf.args(["-e", MIGRATE, "--"]);
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
    for line in run.stdout().lines().filter(|line| !line.contains(MIGRATE)) {
        assert!(!line.contains("PERF_RECORD_LOST"), "{line}");
        threads.extend(add(&mut steps, line));
    }
    steps.values_mut().for_each(|steps| steps.sort_by_key(|(time, _)| *time));
    (steps, threads)
}

/// Returns the CPUs from and to which each thread migrates, in the order of time.
pub(crate) fn migrations(data: &Path) -> BTreeMap<u64, Vec<(u64, u64)>> {
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "-F", "time,event,trace", "-i"]);
    let run = Run::of(script.arg(data));
    assert_eq!(run.code(), 0, "{run:?}");
    let mut migrations = BTreeMap::<u64, Vec<(u64, u64)>>::new();
    for line in run.stdout().lines().filter(|line| line.contains(MIGRATE)) {
        let field = |name: &str| {
            let (_, rest) = line.rsplit_once(name).unwrap_or_else(|| panic!("no {name}: {line}"));
            rest.split_whitespace().next().and_then(|it| it.parse().ok()).expect("a number")
        };
        let cpus = (field(" orig_cpu="), field(" dest_cpu="));
        migrations.entry(field(" pid=")).or_default().push(cpus);
    }
    migrations
}

/// Adds a line such as ` 590 [000] 51641.612037078: sched:sched_switch: prev_comm=…`. Returns its
/// thread; for a wake-up by a thread that was about to end, `None`.
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
        let leaving = number(" prev_pid=");
        add_switch(steps, time, cpu, (leaving, state, number(" next_pid=")));
        return Some(leaving);
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

/// Returns the times of the same steps in a list of ours and one of `perf`, or the place of the
/// first step of ours that differs. If an idle thread is hidden, `perf` may lack the wake-ups of
/// interrupts that stop it.
pub(crate) fn pairs(
    ours: &[(u64, Step)],
    theirs: &[(u64, Step)],
    is_idle_hidden: bool,
) -> Result<Vec<(u64, u64)>, usize> {
    let (mut pairs, mut ours_left, mut theirs_left) = (Vec::new(), ours, theirs);
    while let [our, our_rest @ ..] = ours_left {
        match (our_rest, theirs_left) {
            (_, [their, rest @ ..]) if is_same(our.1, their.1) => {
                pairs.push((our.0, their.0));
                (ours_left, theirs_left) = (our_rest, rest);
            }
            ([next, our_rest @ ..], [first, second, rest @ ..])
                if is_swapped([our.1, next.1], [first.1, second.1]) =>
            {
                pairs.extend([(our.0, second.0), (next.0, first.0)]);
                (ours_left, theirs_left) = (our_rest, rest);
            }
            _ if is_idle_hidden && matches!(our.1, Step::Woken { by: 0, .. }) => {
                ours_left = our_rest;
            }
            _ => return Err(ours.len() - ours_left.len()),
        }
    }
    if theirs_left.is_empty() {
        Ok(pairs)
    } else {
        Err(ours.len())
    }
}

/// Returns whether the steps are the same in the opposite order: a wake-up by another CPU while the
/// thread leaves its own. Each tracer takes the times of both when its own code runs there.
fn is_swapped(ours: [Step; 2], theirs: [Step; 2]) -> bool {
    let is_both = matches!(
        ours,
        [Step::Woken { .. }, Step::Out { .. }] | [Step::Out { .. }, Step::Woken { .. }]
    );
    is_both && is_same(ours[0], theirs[1]) && is_same(ours[1], theirs[0])
}

/// `perf` does not name wakers that are about to end.
fn is_same(our: Step, their: Step) -> bool {
    match (our, their) {
        (Step::Woken { cpu, .. }, Step::Woken { cpu: their_cpu, by: ENDED }) => cpu == their_cpu,
        _ => our == their,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_has_its_id_in_its_last_switch() {
        let mut steps = Steps::new();
        let waking = "-1 [000] 1.000000001: sched:sched_waking: comm=a pid=7 prio=9 target_cpu=000";
        assert_eq!(add(&mut steps, waking), None);
        let switch =
            "-1 [000] 1.000000002: sched:sched_switch: prev_comm=b prev_pid=9 prev_prio=9 \
                      prev_state=Z ==> next_comm=a next_pid=7 next_prio=9";
        assert_eq!(add(&mut steps, switch), Some(9));
        let woken = Step::Woken { cpu: 0, by: ENDED };
        let arrives = Step::In { cpu: 0, from: 9 };
        assert_eq!(steps[&7], [(1_000_000_001, woken), (1_000_000_002, arrives)]);
    }

    #[test]
    fn wake_ups_that_only_one_has() {
        let woken = |by| Step::Woken { cpu: 1, by };
        let (first, second) = ((10, woken(0)), (20, woken(7)));
        let arrives = (30, Step::In { cpu: 1, from: 0 });
        let ours = [first, second, arrives];
        let theirs = [(21, woken(7)), (31, arrives.1)];
        assert_eq!(pairs(&ours, &theirs, true), Ok(vec![(20, 21), (30, 31)]));
        assert_eq!(pairs(&ours, &theirs, false), Err(0));
        assert_eq!(pairs(&theirs, &ours, true), Err(0));
        assert_eq!(pairs(&ours[..2], &theirs, true), Err(2));
        assert_eq!(pairs(&ours[1..], &[(20, woken(ENDED)), arrives], false).unwrap().len(), 2);
    }

    #[test]
    fn wake_ups_while_a_thread_leaves() {
        let woken = |time| (time, Step::Woken { cpu: 1, by: 7 });
        let leaves = |time| (time, Step::Out { cpu: 0, to: 9, state: ThreadState::BLOCKED });
        let arrives = |time| (time, Step::In { cpu: 1, from: 0 });
        let ours = [leaves(10), woken(11), arrives(20)];
        let theirs = [woken(10), leaves(11), arrives(20)];
        assert_eq!(pairs(&ours, &theirs, false), Ok(vec![(10, 11), (11, 10), (20, 20)]));
        let theirs = [woken(10), arrives(11), leaves(20)];
        assert_eq!(pairs(&ours, &theirs, false), Err(0));
        let theirs = [leaves(10), arrives(11), woken(20)];
        assert_eq!(pairs(&ours, &theirs, false), Err(1));
    }
}
