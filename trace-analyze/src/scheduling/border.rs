//! The states that threads have when a slice begins.
//!
//! The records from which they follow are before the slice. A slice begins with other ones, all at
//! the time of its begin, from which readers get the same states:
//!
//! | state | record | arguments besides the weight |
//! |---|---|---|
//! | blocked | context switch from the thread to the idle one | `state_age_ns` |
//! | blocked, but woken up before it left its CPU | the same | `state_age_ns`, `was_woken` |
//! | preempted | the same, and the thread can continue | `state_age_ns`, `preempted_by` |
//! | woken up | wake-up | `state_age_ns`, those of its waker |
//! | running | context switch from the idle thread to the thread | `state_age_ns` |
//!
//! `state_age_ns` is the time since the thread has the state, in nanoseconds. Memory grows with the
//! number of threads and CPUs only. Records of one CPU are in the order of time, and those of
//! several CPUs may be in any order.

use std::collections::{BTreeMap, HashMap};

use trace_format::layout::ThreadState;
use trace_format::{Argument, Arguments, ContextSwitch, Item, Record, ThreadWakeup, Value};

use super::{is_exit, wakeup_nanos, Cpu, Switch, Task, Waker};
use super::{PREEMPTED_BY, STATE_AGE, WAS_WOKEN};

/// The most threads.
const MAX_THREADS: usize = 1 << 18;

/// The most wake-ups of a thread after its last switch.
const MAX_WAKEUPS: usize = 64;

/// The scheduling of all threads before a time.
#[derive(Debug, Default)]
pub struct Border {
    nanos: u64,
    threads: BTreeMap<u64, Thread>,
    /// The time of the last switch of each CPU.
    cpus: HashMap<Cpu, u64>,
}

#[derive(Debug, Default)]
struct Thread {
    last: Option<Last>,
    /// The wake-ups after its last switch, in the order of time.
    wakeups: Vec<Wakeup>,
}

/// The last switch of a thread.
#[derive(Debug, Clone, Copy)]
struct Last {
    nanos: u64,
    cpu: Cpu,
    weight: Option<i64>,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The CPU ran it.
    Arrived,
    /// It ended, but its last switch is missing.
    Ended,
    /// The CPU left it.
    Left {
        state: ThreadState,
        by: Option<u64>,
        /// The begin of the turn.
        arrived: Option<u64>,
        /// A wake-up found it running.
        was_woken: bool,
    },
}

#[derive(Debug, Clone, Copy)]
struct Wakeup {
    nanos: u64,
    cpu: Cpu,
    waker: Option<Waker>,
    weight: Option<i64>,
}

/// The state of a thread when a slice begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The CPU of the thread's last record.
    pub cpu: Cpu,
    /// The koid of the thread.
    pub thread: u64,
    /// Its weight.
    pub weight: Option<i64>,
    /// The time in nanoseconds since which it has the state.
    pub since: u64,
    /// The state.
    pub state: KnownState,
}

/// What a thread does when a slice begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownState {
    /// It runs.
    Running,
    /// It left a CPU in this state.
    Left {
        /// The state.
        state: ThreadState,
        /// The thread that ran there instead, if it is preempted.
        by: Option<u64>,
        /// Whether it was woken up before it left. It can continue then, unless its next wake-up
        /// is before its next turn.
        was_woken: bool,
    },
    /// It was woken up, by a waker or one that is unknown. A running thread can be.
    Woken(Option<Waker>),
}

impl Border {
    /// Creates the states at a time in nanoseconds.
    #[must_use]
    pub fn new(nanos: u64) -> Self {
        Self { nanos, ..Self::default() }
    }

    /// Adds a record, if it is about scheduling and before the time.
    pub fn note(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) => {
                if let Some(switch) = Switch::of(item) {
                    self.switch(&switch);
                }
            }
            Record::ThreadWakeup(wakeup) => self.wakeup(item, wakeup),
            Record::Event(event) if self.nanos > 0 && is_exit(item, event) => {
                let (nanos, koid) = (item.nanos(event.ticks), item.thread(event.thread).thread);
                let cpu = (item.provider.id(), 0);
                self.set(
                    Task { thread: koid, weight: None, is_partial: false },
                    nanos,
                    cpu,
                    What::Ended,
                );
            }
            _ => {}
        }
    }

    fn switch(&mut self, switch: &Switch) {
        let Switch { cpu, outgoing, state, incoming, .. } = *switch;
        let nanos = switch.before.map_or(switch.nanos, |before| before.since);
        if switch.nanos >= self.nanos {
            return;
        }
        let (by, was_woken) = match switch.before {
            Some(before) => (before.preempted_by, before.was_woken),
            None => (Some(incoming.thread).filter(|thread| *thread != 0), false),
        };
        self.set(outgoing, nanos, cpu, What::Left { state, by, arrived: None, was_woken });
        self.set(incoming, nanos, cpu, What::Arrived);
        if switch.before.is_none() || incoming.thread != 0 {
            let last = self.cpus.entry(cpu).or_default();
            *last = nanos.max(*last);
        }
    }

    fn wakeup(&mut self, item: &Item<'_>, wakeup: &ThreadWakeup<'_>) {
        let nanos = wakeup_nanos(item, wakeup);
        let task = Task::of(item, wakeup.thread, &wakeup.arguments, "weight");
        let cpu = (item.provider.id(), wakeup.cpu);
        let waker = Waker::of(item, &wakeup.arguments);
        if item.nanos(wakeup.ticks) < self.nanos {
            if let Some(thread) = self.thread(task.thread) {
                thread.wake(Wakeup { nanos, cpu, waker, weight: task.weight });
            }
        }
    }

    fn set(&mut self, task: Task, nanos: u64, cpu: Cpu, what: What) {
        let last = Last { nanos, cpu, weight: task.weight, what };
        if nanos < self.nanos {
            if let Some(thread) = self.thread(task.thread) {
                thread.set(last);
            }
        }
    }

    /// Returns a thread, unless it is the idle one.
    fn thread(&mut self, koid: u64) -> Option<&mut Thread> {
        let has_room = self.threads.len() < MAX_THREADS || self.threads.contains_key(&koid);
        (koid != 0 && has_room).then(|| self.threads.entry(koid).or_default())
    }

    /// Returns the states of the threads by the provider of their records, in the order in which
    /// they have to be written.
    #[must_use]
    pub fn by_provider(&self) -> HashMap<Option<u32>, Vec<Known>> {
        let mut providers: HashMap<_, Vec<Known>> = HashMap::new();
        for (koid, thread) in &self.threads {
            for known in self.known(*koid, thread) {
                providers.entry(known.cpu.0).or_default().push(known);
            }
        }
        // A CPU that other threads have left runs a thread. A running thread can be woken up.
        let order = |known: &Known| match known.state {
            KnownState::Left { .. } => 0,
            KnownState::Running => 1,
            KnownState::Woken(_) => 2,
        };
        providers.values_mut().for_each(|known| known.sort_by_key(order));
        providers
    }

    fn known(&self, koid: u64, thread: &Thread) -> Vec<Known> {
        let woken = |since: u64, wakeup: &Wakeup| {
            let waker = thread.wakeups.last().unwrap_or(wakeup).waker;
            let Wakeup { cpu, weight, .. } = *wakeup;
            Known { cpu, thread: koid, weight, since, state: KnownState::Woken(waker) }
        };
        let Some(last) = thread.last else {
            return thread
                .wakeups
                .first()
                .map(|first| woken(first.nanos, first))
                .into_iter()
                .collect();
        };
        let Last { nanos: since, cpu, weight, what } = last;
        let known = |state| Known { cpu, thread: koid, weight, since, state };
        let ended = self.cpus.get(&cpu).copied().filter(|end| *end > since);
        let after = ended.unwrap_or(0);
        let next = thread.wakeups.iter().find(|wakeup| wakeup.nanos > after);
        let next = next.map(|wakeup| woken(wakeup.nanos, wakeup));
        match (what, ended) {
            (What::Ended, _) => Vec::new(),
            (What::Arrived, None) => [known(KnownState::Running)].into_iter().chain(next).collect(),
            // The switch from it is missing.
            (What::Arrived, Some(_)) => next.into_iter().collect(),
            (What::Left { state: ThreadState::DYING | ThreadState::DEAD, .. }, _) => Vec::new(),
            (What::Left { state, by, .. }, _) if state == ThreadState::RUNNING => {
                vec![known(KnownState::Left { state, by, was_woken: false })]
            }
            (What::Left { state, was_woken, .. }, _) => {
                let first = thread.wakeups.first().map(|first| woken(first.nanos, first));
                vec![first.unwrap_or(known(KnownState::Left { state, by: None, was_woken }))]
            }
        }
    }
}

impl Thread {
    fn set(&mut self, mut last: Last) {
        if self.last.is_some_and(|before| before.nanos > last.nanos) {
            return;
        }
        if let What::Left { arrived, was_woken, .. } = &mut last.what {
            *arrived = match self.last {
                Some(Last { nanos, what: What::Arrived, .. }) => Some(nanos),
                _ => None,
            };
            let is_before = |wakeup: &Wakeup| wakeup.nanos <= last.nanos;
            *was_woken |= arrived.is_some() && self.wakeups.first().is_some_and(is_before);
        }
        self.wakeups.retain(|wakeup| wakeup.nanos > last.nanos);
        self.last = Some(last);
    }

    fn wake(&mut self, wakeup: Wakeup) {
        match &mut self.last {
            Some(last) if wakeup.nanos <= last.nanos => {
                if let What::Left { arrived: Some(arrived), was_woken, .. } = &mut last.what {
                    *was_woken |= wakeup.nanos >= *arrived;
                }
            }
            _ => {
                let place = self.wakeups.partition_point(|other| other.nanos <= wakeup.nanos);
                self.wakeups.insert(place, wakeup);
                if self.wakeups.len() > MAX_WAKEUPS {
                    self.wakeups.remove(0);
                }
            }
        }
    }
}

impl Known {
    /// Calls `write` with the record of the state, at a time that is `nanos` in nanoseconds.
    pub fn with_record<R>(
        &self,
        ticks: u64,
        nanos: u64,
        write: impl FnOnce(&Record<'_>) -> R,
    ) -> R {
        let arguments = self.arguments(nanos);
        let arguments: Arguments<'_> = (&*arguments).into();
        let (cpu, thread) = (self.cpu.1, self.thread);
        let (outgoing_state, outgoing_thread, incoming_thread) = match self.state {
            KnownState::Running => (ThreadState::RUNNING, 0, thread),
            KnownState::Left { state, .. } => (state, thread, 0),
            KnownState::Woken(_) => {
                return write(&ThreadWakeup { ticks, cpu, thread, arguments }.into())
            }
        };
        write(
            &ContextSwitch {
                ticks,
                cpu,
                outgoing_state,
                outgoing_thread,
                incoming_thread,
                arguments,
            }
            .into(),
        )
    }

    fn arguments(&self, nanos: u64) -> Vec<Argument<'static>> {
        let (weight, others) = match self.state {
            KnownState::Running => ("incoming_weight", Vec::new()),
            KnownState::Left { was_woken: true, .. } => {
                ("outgoing_weight", vec![Argument::new(WAS_WOKEN, Value::Bool(true))])
            }
            KnownState::Left { by, .. } => {
                let by = by.map(|by| Argument::new(PREEMPTED_BY, Value::Koid(by)));
                ("outgoing_weight", Vec::from_iter(by))
            }
            KnownState::Woken(by) => ("weight", by.map_or_else(Vec::new, Waker::arguments)),
        };
        let number = self.weight.and_then(|weight| i32::try_from(weight).ok());
        let weight = number.map(|number| Argument::new(weight, Value::Int32(number)));
        let age = Argument::new(STATE_AGE, Value::Uint64(nanos.saturating_sub(self.since)));
        weight.into_iter().chain(others).chain([age]).collect()
    }
}

#[cfg(test)]
mod tests;
