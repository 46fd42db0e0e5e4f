//! The scheduling records of an archive in the order of time.

use std::collections::{HashMap, HashSet};

use trace_format::layout::ThreadState;
use trace_format::{Event, EventKind, Item, Record};

use crate::scheduling::{self, Cpu, Switch, Task};

/// The most records that are kept.
const MAX_STEPS: usize = 8 << 20;

/// The category and name of the event at which a thread ends.
const EXIT: (&str, &str) = ("kernel:tasks", "exit");

/// The scheduling records of an archive. Those of one CPU are in the order of time, and those of
/// several CPUs may be in any order.
#[derive(Debug, Default)]
pub(super) struct Steps {
    list: Vec<Step>,
    cpus: HashMap<Cpu, u32>,
    /// The providers of the CPUs.
    providers: HashSet<Option<u32>>,
    numbers: HashMap<u64, u32>,
    threads: Vec<u64>,
    is_too_long: bool,
}

/// A record in short.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// In nanoseconds.
    pub(super) time: u64,
    pub(super) kind: StepKind,
}

/// What happens. Threads and CPUs are numbers of [`Steps`].
#[derive(Debug, Clone, Copy)]
pub(super) enum StepKind {
    /// A CPU runs another thread. An idle CPU runs `None`.
    Switch { cpu: u32, outgoing: Option<u32>, state: ThreadState, incoming: Option<u32> },
    /// The thread is woken up, by the thread with the koid `waker`, or by one that is unknown.
    Wakeup { thread: u32, waker: Option<u64> },
    /// The thread ends. It runs until its last switch.
    Exit(u32),
}

impl Steps {
    /// Adds a record, if it is about scheduling.
    pub(super) fn push(&mut self, item: &Item<'_>) {
        if self.is_too_long {
            return;
        }
        let step = self.step(item);
        match self.list.len() < MAX_STEPS {
            true => self.list.extend(step),
            false => self.is_too_long = step.is_some(),
        }
    }

    /// Returns whether records are missing because there are too many.
    pub(super) fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// Returns the number of CPUs.
    pub(super) fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Returns the number of a CPU, as its provider numbers it.
    pub(super) fn cpu(&self, number: u32) -> Option<u16> {
        let mut cpus = self.cpus.iter();
        cpus.find(|(_, other)| **other == number).map(|((_, cpu), _)| *cpu)
    }

    /// Returns whether a provider has scheduling records.
    pub(super) fn has_cpus_of(&self, provider: Option<u32>) -> bool {
        self.providers.contains(&provider)
    }

    /// Returns the koids of all threads, in the order of their numbers.
    pub(super) fn threads(&self) -> &[u64] {
        &self.threads
    }

    /// Returns the records in the order of time.
    pub(super) fn sorted(&mut self) -> &[Step] {
        self.list.sort_by_key(|step| step.time);
        &self.list
    }

    /// Frees the memory of the records.
    pub(super) fn clear(&mut self) {
        *self = Self { is_too_long: self.is_too_long, ..Self::default() };
    }

    fn step(&mut self, item: &Item<'_>) -> Option<Step> {
        match &item.record {
            Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) => {
                Switch::of(item).map(|switch| self.switch(&switch))
            }
            Record::ThreadWakeup(wakeup) => {
                let task = Task::of(item, wakeup.thread, &wakeup.arguments, "weight");
                let waker = scheduling::waker(item, &wakeup.arguments);
                let kind = StepKind::Wakeup { thread: self.number(task.thread)?, waker };
                Some(Step { time: item.nanos(wakeup.ticks), kind })
            }
            Record::Event(event) if is_exit(item, event) => {
                let kind = StepKind::Exit(self.number(item.thread(event.thread).thread)?);
                Some(Step { time: item.nanos(event.ticks), kind })
            }
            _ => None,
        }
    }

    fn switch(&mut self, switch: &Switch) -> Step {
        let next = self.cpus.len() as u32;
        let cpu = *self.cpus.entry(switch.cpu).or_insert_with(|| {
            self.providers.insert(switch.cpu.0);
            next
        });
        let (outgoing, incoming) =
            (self.number(switch.outgoing.thread), self.number(switch.incoming.thread));
        let kind = StepKind::Switch { cpu, outgoing, state: switch.state, incoming };
        Step { time: switch.nanos, kind }
    }

    /// Returns the number of a thread, or `None` for the idle thread.
    fn number(&mut self, koid: u64) -> Option<u32> {
        if koid == 0 {
            return None;
        }
        let next = self.threads.len() as u32;
        let number = *self.numbers.entry(koid).or_insert(next);
        if number == next {
            self.threads.push(koid);
        }
        Some(number)
    }
}

fn is_exit(item: &Item<'_>, event: &Event<'_>) -> bool {
    matches!(event.kind, EventKind::Instant { .. })
        && item.text(event.name) == EXIT.1
        && item.text(event.category) == EXIT.0
}
