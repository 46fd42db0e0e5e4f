//! The states of threads as totals: running, runnable and blocked times, latencies, preemptions.

use std::collections::BTreeMap;
use std::io::Read;

use trace_format::{Item, ReadError, Reader, ThreadKoids};

use super::names::Names;
use super::replay::{replay, Activity, Interval, Reason};
use super::steps::Steps;
use crate::distribution::Distribution;
use crate::group::Group;
use crate::Damage;

/// The states of all threads of an archive.
///
/// Times are in nanoseconds. Those before the first scheduling record of a thread are missing, and
/// those before a slice. Turns and waits that began before a slice are counted.
#[derive(Debug, Default)]
pub struct Scheduling {
    /// The threads, by their running time, the longest first. Threads of which the archive has only
    /// a part of the records are omitted.
    pub threads: Vec<ThreadTimes>,
    /// The pairs of threads of which one got the CPU of the other, which could continue, by the
    /// waiting time, the longest first.
    pub preemptions: Vec<Preemption>,
    /// The wake-up latencies of these threads.
    pub latency: Distribution,
    /// The number of missing switches of these threads.
    pub missing: u64,
    /// The threads that are omitted.
    pub partial: Vec<Group>,
    /// Whether the archive has more records than the limit of this analysis, so that the times of
    /// the last ones are missing.
    pub is_too_long: bool,
    /// Missing and unreadable data.
    pub damage: Damage,
}

/// The states of a thread.
#[derive(Debug, Clone, Default)]
pub struct ThreadTimes {
    /// The thread and its process, with their names. The process is 0 if it is unknown.
    pub group: Group,
    /// The time on a CPU.
    pub running: u64,
    /// The time between wake-up or preemption and the next turn on a CPU.
    pub runnable: u64,
    /// The time between leaving a CPU and the wake-up.
    pub blocked: u64,
    /// How often it got a CPU.
    pub turns: u64,
    /// How often it lost its CPU while it could continue.
    pub preempted: u64,
    /// The times from wake-up to the turn on a CPU.
    pub latency: Distribution,
    /// The number of switches that are missing, so that times are missing or estimated.
    pub missing: u64,
}

/// A thread that lost its CPU to another one while it could continue.
#[derive(Debug, Clone, Default)]
pub struct Preemption {
    /// The thread that had to wait.
    pub thread: Group,
    /// The thread that ran instead, or `None` if the CPU became idle.
    pub by: Option<Group>,
    /// How often it happened.
    pub count: u64,
    /// The waiting time until the next turn.
    pub nanos: u64,
}

impl Scheduling {
    /// Drops the threads that are not selected.
    pub fn retain(&mut self, is_selected: impl Fn(ThreadKoids) -> bool) {
        self.threads.retain(|times| is_selected(times.group.koids));
        self.partial.retain(|group| is_selected(group.koids));
        self.preemptions.retain(|pair| is_selected(pair.thread.koids));
        self.add_up();
    }

    /// Sets the values of all threads together.
    fn add_up(&mut self) {
        self.latency = Distribution::default();
        self.threads.iter().for_each(|times| self.latency.extend(&times.latency));
        self.missing = self.threads.iter().map(|times| times.missing).sum();
    }
}

/// Reads the states of all threads of an archive.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<R: Read>(reader: Reader<R>) -> Result<Scheduling, ReadError> {
    let (mut steps, mut names) = (Steps::default(), Names::default());
    let damage = Damage::of_all(reader, |item| {
        steps.push(item);
        names.note(item);
    })?;
    Ok(Scheduling { damage, ..report(&mut steps, &names) })
}

/// Counts the missing switches of an archive that is read for something else.
#[derive(Default)]
pub(crate) struct MissingSwitches {
    steps: Steps,
    names: Names,
}

impl MissingSwitches {
    /// Adds a record.
    pub(crate) fn note(&mut self, item: &Item<'_>) {
        self.steps.push(item);
        self.names.note(item);
    }

    /// Returns the same number as [`Scheduling::missing`].
    pub(crate) fn count(mut self) -> u64 {
        report(&mut self.steps, &self.names).missing
    }
}

fn report(steps: &mut Steps, names: &Names) -> Scheduling {
    let mut threads: Vec<_> = steps.threads().iter().map(|_| ThreadTimes::default()).collect();
    let mut pairs = BTreeMap::new();
    let start = steps.start();
    let missing = replay(steps, None, |interval| {
        if let Some(times) = threads.get_mut(interval.thread as usize) {
            times.add(&interval, start, &mut pairs);
        }
    });
    let group = |number: u32| {
        let thread = steps.threads().get(number as usize).copied();
        names.group(thread.unwrap_or(0), |provider| steps.has_cpus_of(provider))
    };
    let is_partial = |number: u32| {
        steps.threads().get(number as usize).is_some_and(|thread| names.is_partial(*thread))
    };
    for ((number, times), missing) in (0..).zip(&mut threads).zip(missing) {
        (times.group, times.missing) = (group(number), missing);
    }
    let numbered = (0..).zip(threads);
    let (partial, threads): (Vec<_>, Vec<_>) =
        numbered.partition(|(number, _)| is_partial(*number));
    let partial = partial.into_iter().map(|(_, times)| times.group).collect();
    let mut threads: Vec<_> = threads.into_iter().map(|(_, times)| times).collect();
    threads.sort_by_key(|times| (std::cmp::Reverse(times.running), times.group.koids.thread));
    let pairs = pairs.into_iter().filter(|((thread, _), _)| !is_partial(*thread));
    let mut preemptions: Vec<_> = pairs
        .map(|((thread, by), (count, nanos))| Preemption {
            thread: group(thread),
            by: by.map(group),
            count,
            nanos,
        })
        .collect();
    preemptions.sort_by_key(|pair| std::cmp::Reverse((pair.nanos, pair.count)));
    let is_too_long = steps.is_too_long();
    let mut report =
        Scheduling { threads, preemptions, partial, is_too_long, ..Scheduling::default() };
    report.add_up();
    report
}

/// Counts and waiting times of preemptions, by the thread and the one that ran instead.
type Pairs = BTreeMap<(u32, Option<u32>), (u64, u64)>;

impl ThreadTimes {
    /// Adds an interval. Only the part after `start` is added to the sums.
    fn add(&mut self, interval: &Interval, start: u64, pairs: &mut Pairs) {
        let nanos = interval.to.saturating_sub(interval.from.max(start));
        match interval.activity {
            Activity::Running { .. } => {
                self.running += nanos;
                self.turns += 1;
            }
            Activity::Blocked => self.blocked += nanos,
            Activity::Runnable { reason, is_complete } => {
                self.runnable += nanos;
                match reason {
                    // The latency of an estimated end is unknown.
                    Reason::Woken if is_complete => {
                        self.latency.add(interval.to - interval.from);
                    }
                    Reason::Woken => {}
                    Reason::Preempted(by) => {
                        self.preempted += 1;
                        let (count, sum) = pairs.entry((interval.thread, by)).or_default();
                        *count += 1;
                        *sum += nanos;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
