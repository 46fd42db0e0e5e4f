//! The numbers of records by kind.

use std::collections::HashSet;

use serde_json::{json, Value};
use trace_format::{EventKind, Item, Record};

use crate::own::is_added;
use crate::scheduling::Switch;

/// The maximum number of threads that are counted.
const MAX_THREADS: usize = 1 << 16;

/// The numbers of an archive's records by kind. A duration or an operation counts at its begin.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    /// Durations on threads.
    pub durations: u64,
    /// Async operations.
    pub operations: u64,
    /// Flows.
    pub flows: u64,
    /// Instants.
    pub instants: u64,
    /// Values of counters.
    pub counters: u64,
    /// Log records.
    pub logs: u64,
    /// Samples of call stacks.
    pub samples: u64,
    /// Context switches.
    pub switches: u64,
    /// Wake-ups of threads.
    pub wakeups: u64,
    /// Context switches that are missing, as
    /// [`Scheduling::missing`](crate::schedule::threads::Scheduling::missing).
    pub missing_switches: u64,
    /// The threads in context switches.
    scheduled: HashSet<u64>,
}

impl Kinds {
    /// Counts a record.
    pub(crate) fn count(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) if !is_added(item, event) => self.event(event.kind),
            Record::Log(_) => self.logs += 1,
            Record::Backtrace(_) => self.samples += 1,
            Record::ThreadWakeup(_) => self.wakeups += 1,
            Record::ContextSwitch(_) | Record::LegacyContextSwitch(_) => {
                if let Some(switch) = Switch::of(item) {
                    self.switch(&switch);
                }
            }
            _ => {}
        }
    }

    /// Returns the number of threads in context switches, up to a limit.
    #[must_use]
    pub fn scheduled_threads(&self) -> u64 {
        self.scheduled.len() as u64
    }

    /// Returns the numbers as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "durations": self.durations,
            "operations": self.operations,
            "flows": self.flows,
            "instants": self.instants,
            "counters": self.counters,
            "logs": self.logs,
            "samples": self.samples,
            "switches": self.switches,
            "missing_switches": self.missing_switches,
            "wakeups": self.wakeups,
            "scheduled_threads": self.scheduled_threads(),
        })
    }

    fn event(&mut self, kind: EventKind) {
        let number = match kind {
            EventKind::DurationBegin | EventKind::DurationComplete { .. } => &mut self.durations,
            EventKind::AsyncBegin { .. } => &mut self.operations,
            EventKind::FlowBegin { .. } => &mut self.flows,
            EventKind::Instant { .. } => &mut self.instants,
            EventKind::Counter { .. } => &mut self.counters,
            _ => return,
        };
        *number += 1;
    }

    fn switch(&mut self, switch: &Switch) {
        for koid in [switch.outgoing.thread, switch.incoming.thread] {
            if koid != 0 && self.scheduled.len() < MAX_THREADS {
                self.scheduled.insert(koid);
            }
        }
        self.switches += u64::from(switch.before.is_none());
    }
}
