//! The scheduling records of an archive in the order of time.

use std::collections::{HashMap, HashSet};

use trace_format::layout::ThreadState;
use trace_format::{Item, Record};

use crate::is_clock_anchor;
use crate::loss::Gap;
use crate::scheduling::{self, Before, Cpu, Switch, Task, Waker};

/// The most records that are kept by default.
const MAX_STEPS: usize = 8 << 20;

/// The most providers whose clock anchors are noted.
const MAX_ANCHORS: usize = 1 << 10;

/// The scheduling records of an archive. Those of one CPU are in the order of time, and those of
/// several CPUs may be in any order.
#[derive(Debug)]
pub(super) struct Steps {
    list: Vec<Step>,
    /// The most records that are kept.
    max: usize,
    cpus: HashMap<Cpu, u32>,
    /// The providers of the CPUs.
    providers: HashSet<Option<u32>>,
    numbers: HashMap<u64, u32>,
    threads: Vec<u64>,
    is_too_long: bool,
    /// The begin of a slice.
    border: Option<u64>,
    /// The last clock anchor of each provider.
    anchors: HashMap<Option<u32>, u64>,
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
    /// The thread is woken up, by a waker or one that is unknown.
    Wakeup { thread: u32, waker: Option<Waker> },
    /// The thread ends. It runs until its last switch.
    Exit(u32),
    /// The thread runs when a slice begins.
    Arrived { thread: u32, cpu: u32 },
    /// The thread is blocked or preempted when a slice begins.
    Left { thread: u32, state: ThreadState, by: Option<u32>, was_woken: bool },
    /// A provider records nothing until a time in nanoseconds.
    Gap { provider: Option<u32>, to: u64 },
}

impl Default for Steps {
    fn default() -> Self {
        Self::at_most(MAX_STEPS)
    }
}

impl Steps {
    /// Creates an empty list that keeps up to `max` records.
    pub(super) fn at_most(max: usize) -> Self {
        Self {
            list: Vec::new(),
            max,
            cpus: HashMap::new(),
            providers: HashSet::new(),
            numbers: HashMap::new(),
            threads: Vec::new(),
            is_too_long: false,
            border: None,
            anchors: HashMap::new(),
        }
    }

    /// Adds a record, if it is about scheduling.
    pub(super) fn push(&mut self, item: &Item<'_>) {
        if self.is_too_long {
            return;
        }
        let step = self.step(item);
        match self.list.len() < self.max {
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

    /// Returns the providers of scheduling records.
    pub(super) fn into_providers(self) -> HashSet<Option<u32>> {
        self.providers
    }

    /// Returns the koids of all threads, in the order of their numbers.
    pub(super) fn threads(&self) -> &[u64] {
        &self.threads
    }

    /// Removes the gaps of providers without scheduling records.
    fn remove_other_gaps(&mut self) {
        let Self { list, providers, .. } = self;
        list.retain(|step| match step.kind {
            StepKind::Gap { provider, .. } => providers.contains(&provider),
            _ => true,
        });
    }

    /// Returns the records in the order of time.
    pub(super) fn sorted(&mut self) -> &[Step] {
        self.remove_other_gaps();
        self.list.sort_by_key(|step| step.time);
        &self.list
    }

    /// Returns the time of the first record, or of the slice's begin: states before it are known
    /// only for threads that had them then.
    pub(super) fn start(&mut self) -> u64 {
        let first = self.sorted().first().map_or(0, |step| step.time);
        self.border.unwrap_or(first)
    }

    /// Returns the time of the last record, or of the last clock anchor if that is later: the
    /// recording went on until then, without a switch.
    pub(super) fn end(&mut self) -> u64 {
        let last = self.sorted().last().map_or(0, |step| step.time);
        let anchors = self.anchors.iter().filter(|(provider, _)| self.has_cpus_of(**provider));
        anchors.map(|(_, nanos)| *nanos).fold(last, u64::max)
    }

    /// Frees the memory of the records.
    pub(super) fn clear(&mut self) {
        *self = Self { is_too_long: self.is_too_long, ..Self::default() };
    }

    fn step(&mut self, item: &Item<'_>) -> Option<Step> {
        match &item.record {
            Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) => {
                let switch = Switch::of(item)?;
                match switch.before {
                    Some(before) => self.before(&switch, before),
                    None => Some(self.switch(&switch)),
                }
            }
            Record::ThreadWakeup(wakeup) => {
                let task = Task::of(item, wakeup.thread, &wakeup.arguments, "weight");
                let waker = Waker::of(item, &wakeup.arguments);
                let kind = StepKind::Wakeup { thread: self.number(task.thread)?, waker };
                let time = scheduling::wakeup_nanos(item, wakeup);
                self.note_border(time, item.nanos(wakeup.ticks));
                Some(Step { time, kind })
            }
            Record::Event(event) if is_clock_anchor(item, event) => {
                self.note_anchor(item.provider.id(), item.nanos(event.ticks));
                None
            }
            Record::Event(event) if scheduling::is_exit(item, event) => {
                let kind = StepKind::Exit(self.number(item.thread(event.thread).thread)?);
                Some(Step { time: item.nanos(event.ticks), kind })
            }
            Record::Event(event) => {
                let gap = Gap::of_interruption(item, event)?;
                let kind = StepKind::Gap { provider: item.provider.id(), to: item.nanos(gap.to) };
                Some(Step { time: item.nanos(gap.from), kind })
            }
            _ => None,
        }
    }

    fn note_anchor(&mut self, provider: Option<u32>, nanos: u64) {
        if self.anchors.len() < MAX_ANCHORS {
            let last = self.anchors.entry(provider).or_default();
            *last = nanos.max(*last);
        }
    }

    /// Notes the time of a record if the state in it began earlier.
    fn note_border(&mut self, since: u64, nanos: u64) {
        if since < nanos {
            self.border = Some(self.border.map_or(nanos, |border| border.min(nanos)));
        }
    }

    /// Returns the step with which a thread got the state that it has when a slice begins.
    fn before(&mut self, switch: &Switch, before: Before) -> Option<Step> {
        self.note_border(before.since, switch.nanos);
        let cpu = self.cpu_number(switch.cpu);
        let kind = match self.number(switch.outgoing.thread) {
            Some(thread) => {
                let by = self.number(before.preempted_by.unwrap_or(0));
                StepKind::Left { thread, state: switch.state, by, was_woken: before.was_woken }
            }
            None => StepKind::Arrived { thread: self.number(switch.incoming.thread)?, cpu },
        };
        Some(Step { time: before.since, kind })
    }

    fn cpu_number(&mut self, cpu: Cpu) -> u32 {
        let next = self.cpus.len() as u32;
        *self.cpus.entry(cpu).or_insert_with(|| {
            self.providers.insert(cpu.0);
            next
        })
    }

    fn switch(&mut self, switch: &Switch) -> Step {
        let cpu = self.cpu_number(switch.cpu);
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
