//! The states of threads at a time: which ran, which waited for a CPU, and which were blocked.

use std::io::Read;

use trace_format::{ReadError, Reader, ThreadKoids};

use super::names::Names;
use super::replay::{replay, Activity, Interval, Reason};
use super::steps::{StepKind, Steps};
use crate::group::Group;
use crate::scheduling::Waker;
use crate::Damage;

/// The states of all threads at a time.
///
/// Times are in nanoseconds.
#[derive(Debug, Default)]
pub struct Moment {
    /// The threads, by their koids. A thread is missing before its first scheduling record, after
    /// its end, and where a switch is missing. So are threads of which the archive has only a part
    /// of the records.
    pub threads: Vec<ThreadAt>,
    /// Whether the archive has scheduling records.
    pub has_records: bool,
    /// Whether the archive has wake-ups.
    pub has_wakeups: bool,
    /// Whether the archive has more records than the limit of this analysis, so that the last ones
    /// are missing.
    pub is_too_long: bool,
    /// Missing and unreadable data.
    pub damage: Damage,
}

/// A thread at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadAt {
    /// The thread and its process, with their names. The process is 0 if it is unknown.
    pub group: Group,
    /// Its state.
    pub state: State,
    /// The time since which it has the state.
    pub since: u64,
    /// The end of the state, or `None` if it lasts until the last record.
    pub until: Option<u64>,
    /// Its next wake-up after the time.
    pub next: Option<Wakeup>,
}

/// What a thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It runs on the CPU with this number.
    Running(u16),
    /// It waits for a CPU since it was woken up, by a waker or one that is unknown.
    Woken(Option<Waker<Group>>),
    /// It waits for a CPU since it lost one to a thread, or to none.
    Preempted(Option<Group>),
    /// It waits for a wake-up.
    Blocked,
}

/// A wake-up of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wakeup {
    /// The time.
    pub nanos: u64,
    /// The thread or interrupt that woke it up, or `None` if it is unknown.
    pub by: Option<Waker<Group>>,
}

impl Moment {
    /// Drops the threads that are not selected.
    pub fn retain(&mut self, is_selected: impl Fn(ThreadKoids) -> bool) {
        self.threads.retain(|thread| is_selected(thread.group.koids));
    }
}

/// Reads the states of all threads at a time, in nanoseconds.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<R: Read>(reader: Reader<R>, nanos: u64) -> Result<Moment, ReadError> {
    let (mut steps, mut names) = (Steps::default(), Names::default());
    let damage = Damage::of_all(reader, |item| {
        steps.push(item);
        names.note(item);
    })?;
    let found = intervals_at(&mut steps, nanos);
    let wakeups = wakeups_around(&mut steps, nanos);
    let view = View { steps: &steps, names: &names };
    let pairs = found.iter().zip(&wakeups);
    let known = pairs.filter_map(|(at, near)| view.thread(at.as_ref()?, near));
    let mut threads: Vec<_> = known.collect();
    threads.sort_by_key(|thread| thread.group.koids);
    let has_wakeups = wakeups.iter().any(|near| near.last.or(near.next).is_some());
    let (has_records, is_too_long) = (!steps.threads().is_empty(), steps.is_too_long());
    Ok(Moment { threads, has_records, has_wakeups, is_too_long, damage })
}

/// Returns the interval of each thread at a time.
fn intervals_at(steps: &mut Steps, nanos: u64) -> Vec<Option<Interval>> {
    let mut found = vec![None; steps.threads().len()];
    replay(steps, Some(u64::MAX), |interval| {
        let is_found = (interval.from..interval.to).contains(&nanos);
        if let Some(place) = found.get_mut(interval.thread as usize).filter(|_| is_found) {
            *place = Some(interval);
        }
    });
    found
}

/// The last wake-up of a thread at a time or before it, and the next one: times and wakers.
#[derive(Debug, Clone, Copy, Default)]
struct Near {
    last: Option<(u64, Option<Waker>)>,
    next: Option<(u64, Option<Waker>)>,
}

/// Returns the wake-ups of each thread.
fn wakeups_around(steps: &mut Steps, nanos: u64) -> Vec<Near> {
    let mut wakeups = vec![Near::default(); steps.threads().len()];
    for step in steps.sorted() {
        let StepKind::Wakeup { thread, waker } = step.kind else { continue };
        let Some(near) = wakeups.get_mut(thread as usize) else { continue };
        match step.time <= nanos {
            true => near.last = Some((step.time, waker)),
            false => near.next = near.next.or(Some((step.time, waker))),
        }
    }
    wakeups
}

/// Names of threads and CPUs.
struct View<'a> {
    steps: &'a Steps,
    names: &'a Names,
}

impl View<'_> {
    /// Returns a thread, unless the archive has only a part of its records.
    fn thread(&self, at: &Interval, near: &Near) -> Option<ThreadAt> {
        let koid = self.koid(at.thread)?;
        if self.names.is_partial(koid) {
            return None;
        }
        let named = |waker: Waker| waker.map(|thread| self.group(thread));
        let waker = || near.last.and_then(|(_, waker)| waker).map(named);
        let state = match at.activity {
            Activity::Running { cpu } => State::Running(self.steps.cpu(cpu)?),
            Activity::Blocked => State::Blocked,
            Activity::Runnable { reason: Reason::Woken, .. } => State::Woken(waker()),
            Activity::Runnable { reason: Reason::Preempted(by), .. } => {
                let by = by.and_then(|by| self.koid(by));
                State::Preempted(by.map(|by| self.group(by)))
            }
        };
        let wakeup = |(nanos, waker): (u64, Option<Waker>)| Wakeup { nanos, by: waker.map(named) };
        Some(ThreadAt {
            group: self.group(koid),
            state,
            since: at.from,
            until: (at.to < u64::MAX).then_some(at.to),
            next: near.next.map(wakeup),
        })
    }

    fn koid(&self, number: u32) -> Option<u64> {
        self.steps.threads().get(number as usize).copied()
    }

    fn group(&self, koid: u64) -> Group {
        self.names.group(koid, |provider| self.steps.has_cpus_of(provider))
    }
}

#[cfg(test)]
mod tests;
