//! All states of some threads.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use trace_format::{ReadError, Reader};

use super::names::Names;
use super::replay::{replay, Activity, Reason};
use super::steps::{StepKind, Steps};
use crate::group::Group;
use crate::scheduling::Waker;
use crate::Damage;

/// The states of some threads during a time, by their koids.
#[derive(Default)]
pub(crate) struct History {
    threads: HashMap<u64, Vec<Period>>,
    names: Names,
    /// The providers of scheduling records.
    providers: HashSet<Option<u32>>,
    /// The times of the begin and the end of the records. States at the end last beyond it.
    pub(crate) recorded: (u64, u64),
    /// Whether wake-ups are recorded.
    pub(crate) has_wakeups: bool,
    /// Whether the archive has scheduling records.
    pub(crate) has_records: bool,
    /// Whether there are too many records. All states are unknown then.
    pub(crate) is_too_long: bool,
}

/// A time of a thread in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) state: PeriodState,
    /// The thread that left the CPU at the end of a wait for it. `None` if that is unknown, or the
    /// CPU was idle.
    pub(crate) last: Option<u64>,
}

/// A state, with its cause unless the archive does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeriodState {
    Running,
    /// It waits for a CPU since it was woken up.
    Woken(Option<Waker>),
    /// It waits for a CPU since the thread with this koid got its own one.
    Preempted(Option<u64>),
    /// It is blocked until it is woken up.
    Blocked(Option<Waker>),
}

impl History {
    /// Reads the states of threads that overlap a time.
    pub(crate) fn read<R: Read>(
        threads: impl Iterator<Item = u64>,
        time: (u64, u64),
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        Self::of_steps(threads, time, Steps::default(), reader)
    }

    /// Reads the states of threads from up to `max` scheduling records.
    #[cfg(test)]
    pub(crate) fn read_at_most<R: Read>(
        threads: impl Iterator<Item = u64>,
        time: (u64, u64),
        max: usize,
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        Self::of_steps(threads, time, Steps::at_most(max), reader)
    }

    fn of_steps<R: Read>(
        threads: impl Iterator<Item = u64>,
        time: (u64, u64),
        mut steps: Steps,
        reader: Reader<R>,
    ) -> Result<Self, ReadError> {
        let mut history = Self::default();
        Damage::of_all(reader, |item| {
            steps.push(item);
            history.names.note(item);
        })?;
        history.threads = threads.map(|thread| (thread, Vec::new())).collect();
        history.has_records = !steps.threads().is_empty();
        history.is_too_long = steps.is_too_long();
        if !history.is_too_long {
            history.recorded = (steps.start(), steps.end());
            history.fill(&mut steps, time);
            history.providers = steps.into_providers();
        }
        Ok(history)
    }

    /// Returns the states of a thread that overlap a time, in order.
    pub(crate) fn during(&self, thread: u64, from: u64, to: u64) -> impl Iterator<Item = &Period> {
        let periods = self.threads.get(&thread).map_or(&[][..], Vec::as_slice);
        let first = periods.partition_point(|period| period.to <= from);
        periods.iter().skip(first).take_while(move |period| period.from < to)
    }

    /// Returns a thread with its names.
    pub(crate) fn group(&self, thread: u64) -> Group {
        self.names.group(thread, |provider| self.providers.contains(&provider))
    }

    /// Returns a waker with its names.
    pub(crate) fn waker(&self, waker: Option<Waker>) -> Option<Waker<Group>> {
        waker.map(|waker| waker.map(|thread| self.group(thread)))
    }

    fn fill(&mut self, steps: &mut Steps, (from, to): (u64, u64)) {
        let koids = steps.threads().to_vec();
        let threads = &mut self.threads;
        replay(steps, Some(u64::MAX), |interval| {
            let koid = koids.get(interval.thread as usize);
            let periods = koid.and_then(|koid| threads.get_mut(koid));
            let Some(periods) = periods.filter(|_| interval.to > from && interval.from < to) else {
                return;
            };
            periods.push(Period {
                from: interval.from,
                to: interval.to,
                state: PeriodState::of(interval.activity, &koids),
                last: None,
            });
        });
        // The first wake-up of a thread at a time counts.
        let mut last = HashMap::new();
        for step in steps.sorted() {
            match step.kind {
                StepKind::Wakeup { thread, waker } => {
                    self.has_wakeups = true;
                    if last.insert(thread, step.time) != Some(step.time) {
                        note_waker(self.periods(&koids, thread), step.time, waker);
                    }
                }
                StepKind::Switch { outgoing, incoming: Some(thread), .. } => {
                    let outgoing = outgoing.and_then(|thread| koids.get(thread as usize).copied());
                    note_last(self.periods(&koids, thread), step.time, outgoing);
                }
                _ => {}
            }
        }
    }

    /// Returns the states of a thread by its number.
    fn periods(&mut self, koids: &[u64], thread: u32) -> &mut [Period] {
        let koid = koids.get(thread as usize);
        koid.and_then(|koid| self.threads.get_mut(koid)).map_or(&mut [], Vec::as_mut_slice)
    }
}

impl PeriodState {
    /// Returns a state, without the waker.
    fn of(activity: Activity, koids: &[u64]) -> Self {
        match activity {
            Activity::Running { .. } => Self::Running,
            Activity::Blocked => Self::Blocked(None),
            Activity::Runnable { reason: Reason::Woken, .. } => Self::Woken(None),
            Activity::Runnable { reason: Reason::Preempted(by), .. } => {
                Self::Preempted(by.and_then(|by| koids.get(by as usize).copied()))
            }
        }
    }
}

/// Returns the periods that begin or end at a time, or last at it.
fn at(periods: &mut [Period], time: u64) -> impl Iterator<Item = &mut Period> {
    let first = periods.partition_point(|period| period.to < time);
    periods.iter_mut().skip(first).take_while(move |period| period.from <= time)
}

/// Adds the waker to the periods that a wake-up ends or begins.
fn note_waker(periods: &mut [Period], time: u64, waker: Option<Waker>) {
    for period in at(periods, time) {
        match &mut period.state {
            PeriodState::Blocked(by) if period.to == time => *by = waker,
            PeriodState::Woken(by) if period.from == time => *by = waker,
            _ => {}
        }
    }
}

/// Adds the thread that leaves a CPU to the wait for this CPU that ends then.
fn note_last(periods: &mut [Period], time: u64, outgoing: Option<u64>) {
    for period in at(periods, time).filter(|period| period.to == time) {
        if let PeriodState::Woken(_) | PeriodState::Preempted(_) = period.state {
            period.last = outgoing;
        }
    }
}

#[cfg(test)]
mod tests;
