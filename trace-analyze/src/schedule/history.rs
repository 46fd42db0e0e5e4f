//! All states of some threads.

use std::collections::HashMap;
use std::io::Read;

use trace_format::{ReadError, Reader};

use super::names::Names;
use super::replay::{replay, Activity, Reason};
use super::steps::{StepKind, Steps};
use crate::stats::Group;
use crate::Damage;

/// The states of some threads, by their koids.
#[derive(Debug, Default)]
pub(crate) struct History {
    threads: HashMap<u64, Vec<Period>>,
    /// Whether wake-ups are recorded.
    pub(crate) has_wakeups: bool,
    /// Whether the archive has scheduling records.
    pub(crate) has_records: bool,
    /// Whether there are too many records. All states are unknown then.
    pub(crate) is_too_long: bool,
}

/// A time of a thread in one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) state: PeriodState,
}

/// A state. Threads are unknown if the archive does not have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PeriodState {
    Running,
    /// It waits for a CPU since another thread woke it up.
    Woken(Option<Group>),
    /// It waits for a CPU since another thread got its own one.
    Preempted(Option<Group>),
    /// It is blocked until another thread wakes it up.
    Blocked(Option<Group>),
}

impl History {
    /// Reads the states of threads.
    pub(crate) fn read<R: Read>(
        threads: impl Iterator<Item = u64>,
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        Self::of_steps(threads, Steps::default(), reader)
    }

    /// Reads the states of threads from up to `max` scheduling records.
    #[cfg(test)]
    pub(crate) fn read_at_most<R: Read>(
        threads: impl Iterator<Item = u64>,
        max: usize,
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        Self::of_steps(threads, Steps::at_most(max), reader)
    }

    fn of_steps<R: Read>(
        threads: impl Iterator<Item = u64>,
        mut steps: Steps,
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        let mut names = Names::default();
        Damage::of_all(reader, |item| {
            steps.push(item);
            names.note(item);
        })?;
        let mut history = Self {
            threads: threads.map(|thread| (thread, Vec::new())).collect(),
            has_records: !steps.threads().is_empty(),
            is_too_long: steps.is_too_long(),
            ..Self::default()
        };
        if !history.is_too_long {
            history.fill(&mut steps, &names);
        }
        Ok(history)
    }

    /// Returns the states of a thread that overlap a time, in order.
    pub(crate) fn during(&self, thread: u64, from: u64, to: u64) -> impl Iterator<Item = &Period> {
        let periods = self.threads.get(&thread).map_or(&[][..], Vec::as_slice);
        let first = periods.partition_point(|period| period.to <= from);
        periods.iter().skip(first).take_while(move |period| period.from < to)
    }

    fn fill(&mut self, steps: &mut Steps, names: &Names) {
        let koids = steps.threads().to_vec();
        let mut found = Vec::new();
        replay(steps, Some(u64::MAX), |interval| {
            let koid = koids.get(interval.thread as usize);
            if koid.is_some_and(|koid| self.threads.contains_key(koid)) {
                found.push(interval);
            }
        });
        let wakers = self.wakers(steps, &koids);
        let group = |koid: u64| names.group(koid, |provider| steps.has_cpus_of(provider));
        let waker = |koid: u64, nanos: u64| {
            let waker: Option<u64> = wakers.get(&(koid, nanos)).copied().flatten();
            waker.map(group)
        };
        for interval in found {
            let Some(koid) = koids.get(interval.thread as usize) else { continue };
            let (from, to) = (interval.from, interval.to);
            let state = match interval.activity {
                Activity::Running { .. } => PeriodState::Running,
                Activity::Blocked => PeriodState::Blocked(waker(*koid, to)),
                Activity::Runnable { reason: Reason::Woken, .. } => {
                    PeriodState::Woken(waker(*koid, from))
                }
                Activity::Runnable { reason: Reason::Preempted(by), .. } => {
                    let by = by.and_then(|by| koids.get(by as usize));
                    PeriodState::Preempted(by.map(|by| group(*by)))
                }
            };
            self.threads.entry(*koid).or_default().push(Period { from, to, state });
        }
    }

    /// Returns the wakers of the threads, by thread and time.
    fn wakers(&mut self, steps: &mut Steps, koids: &[u64]) -> HashMap<(u64, u64), Option<u64>> {
        let mut wakers = HashMap::new();
        for step in steps.sorted() {
            let StepKind::Wakeup { thread, waker } = step.kind else { continue };
            self.has_wakeups = true;
            let koid = koids.get(thread as usize).filter(|koid| self.threads.contains_key(koid));
            if let Some(koid) = koid {
                wakers.insert((*koid, step.time), waker);
            }
        }
        wakers
    }
}
