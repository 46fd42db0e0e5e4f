//! Scheduling records: switches of CPUs between threads, and turns of threads on CPUs.

pub mod border;
mod waker;

use std::collections::HashMap;

use trace_format::layout::ThreadState;
use trace_format::{Arguments, Event, EventKind, Item, Record, ThreadKoids, ThreadWakeup, Value};

use crate::arguments;
use crate::carried::ADDED;
use crate::catalog::Catalog;
pub use waker::{InterruptKind, Waker};

/// The weight of an idle processor.
const IDLE: i64 = i32::MIN as i64;

/// The category and name of the event at which a thread ends.
const EXIT: (&str, &str) = ("kernel:tasks", "exit");

/// The argument of a record that a slice begins with: for how many nanoseconds the thread has had
/// its state.
pub(crate) const STATE_AGE: &str = "state_age_ns";

/// The argument of such a record with the thread that got the CPU of the record's thread.
pub(crate) const PREEMPTED_BY: &str = "preempted_by";

/// The argument of such a record of a blocked thread that was woken up before it left its CPU.
pub(crate) const WAS_WOKEN: &str = "was_woken";

/// A thread that a CPU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Its koid, or 0 if the processor is idle.
    pub thread: u64,
    /// Its weight; its priority on Linux.
    pub weight: Option<i64>,
    /// Whether the archive has only a part of its switches, so that the end of its turn is unknown.
    pub is_partial: bool,
}

impl Task {
    /// A CPU's idle thread.
    const IDLE: Self = Self { thread: 0, weight: None, is_partial: false };

    /// Returns the idle thread in the place of one with unknown turns, for viewers that have no
    /// turn without an end.
    #[must_use]
    pub fn or_idle(self) -> Self {
        if self.is_partial {
            Self::IDLE
        } else {
            self
        }
    }

    /// Returns a task. `name` is the name of the argument with its weight.
    pub fn of(item: &Item<'_>, thread: u64, arguments: &Arguments<'_>, name: &str) -> Self {
        let weight = arguments::named(item, arguments, name).find_map(|value| match value {
            Value::Int32(value) => Some(value.into()),
            Value::Uint32(value) => Some(value.into()),
            Value::Int64(value) => Some(value),
            _ => None,
        });
        match weight {
            Some(IDLE) => Self::IDLE,
            weight => Self { thread, weight, is_partial: false },
        }
    }
}

/// A CPU, with the provider of its records.
pub type Cpu = (Option<u32>, u16);

/// A switch of a CPU from one thread to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The CPU.
    pub cpu: Cpu,
    /// The time in nanoseconds.
    pub nanos: u64,
    /// The thread that ran.
    pub outgoing: Task,
    /// The new state of that thread.
    pub state: ThreadState,
    /// The thread that runs now.
    pub incoming: Task,
    /// Both threads, if the record has their processes.
    pub koids: Option<(ThreadKoids, ThreadKoids)>,
    /// Set if this is no switch, but the state of a thread when a slice begins ([`border`]). The
    /// other thread is the idle one.
    pub before: Option<Before>,
}

/// The state of a thread when a slice begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// The time in nanoseconds since which the thread has the state.
    pub since: u64,
    /// The thread that got its CPU, if that is known.
    pub preempted_by: Option<u64>,
    /// Whether the thread is blocked, but was woken up before it left its CPU.
    pub was_woken: bool,
}

impl Switch {
    /// Returns the switch of a record, or `None` if the record is not a switch.
    #[must_use]
    pub fn of(item: &Item<'_>) -> Option<Self> {
        match &item.record {
            Record::ContextSwitch(switch) => {
                let task = |thread, weight| Task::of(item, thread, &switch.arguments, weight);
                let nanos = item.nanos(switch.ticks);
                let before = age(item, &switch.arguments).map(|age| Before {
                    since: nanos.saturating_sub(age),
                    preempted_by: koid(item, &switch.arguments, PREEMPTED_BY),
                    was_woken: arguments::named(item, &switch.arguments, WAS_WOKEN)
                        .any(|value| value == Value::Bool(true)),
                });
                Some(Self {
                    cpu: (item.provider.id(), switch.cpu),
                    nanos,
                    outgoing: task(switch.outgoing_thread, "outgoing_weight"),
                    state: switch.outgoing_state,
                    incoming: task(switch.incoming_thread, "incoming_weight"),
                    koids: None,
                    before,
                })
            }
            Record::LegacyContextSwitch(switch) => {
                let task = |koids: ThreadKoids, priority: u8| Task {
                    thread: koids.thread,
                    weight: Some(priority.into()),
                    is_partial: false,
                };
                let (outgoing, incoming) =
                    (item.thread(switch.outgoing), item.thread(switch.incoming));
                Some(Self {
                    cpu: (item.provider.id(), switch.cpu.into()),
                    nanos: item.nanos(switch.ticks),
                    outgoing: task(outgoing, switch.outgoing_priority),
                    state: switch.outgoing_state,
                    incoming: task(incoming, switch.incoming_priority),
                    koids: Some((outgoing, incoming)),
                    before: None,
                })
            }
            _ => None,
        }
    }

    /// Returns the switch with the threads marked of which the archive has only a part of the
    /// switches.
    #[must_use]
    pub fn marked(mut self, catalog: &Catalog) -> Self {
        for task in [&mut self.outgoing, &mut self.incoming] {
            task.is_partial = catalog.is_partial(task.thread);
        }
        self
    }
}

/// A turn of a thread on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<T> {
    /// The CPU.
    pub cpu: Cpu,
    /// The thread. An idle CPU has no turn.
    pub task: Task,
    /// The thread's process, if the switch has it.
    pub process: Option<u64>,
    /// The begin in nanoseconds, or `None` if it is before the CPU's first switch.
    pub from: Option<u64>,
    /// The end in nanoseconds, with the thread's new state, or `None` if the switch is missing, or
    /// some switches of the thread are.
    pub to: Option<(u64, ThreadState)>,
    /// The caller's value of the switch at its begin.
    pub value: T,
}

/// Assembles turns from the switches of each CPU, in the order of time.
#[derive(Debug, Default)]
pub struct Turns<T> {
    running: HashMap<Cpu, Turn<T>>,
}

impl<T: Copy + Default> Turns<T> {
    /// Adds the next switch, and returns the turn that it ends. If the outgoing thread is not the
    /// last incoming one, a switch is missing, and the turn has no end. Neither has that of a
    /// partial thread.
    pub fn push(&mut self, switch: &Switch, value: T) -> Option<Turn<T>> {
        let Switch { cpu, nanos, outgoing, state, incoming, koids, before } = *switch;
        if before.is_some() {
            self.continue_turn(switch, value);
            return None;
        }
        let processes = koids.map(|(outgoing, incoming)| (outgoing.process, incoming.process));
        let (process, next_process) = processes.unzip();
        let next =
            Turn { cpu, task: incoming, process: next_process, from: Some(nanos), to: None, value };
        let turn = self.running.insert(cpu, next).unwrap_or(Turn {
            task: outgoing,
            process,
            from: None,
            value: T::default(),
            ..next
        });
        let is_end = turn.task.thread == outgoing.thread && !turn.task.is_partial;
        let turn = Turn { to: is_end.then_some((nanos, state)), ..turn };
        Some(turn).filter(|turn| turn.task.thread != 0)
    }

    /// Begins a turn at the begin of a slice. Its part before is not in the slice.
    fn continue_turn(&mut self, switch: &Switch, value: T) {
        let Switch { cpu, nanos, incoming: task, .. } = *switch;
        if task.thread != 0 {
            let turn = Turn { cpu, task, process: None, from: Some(nanos), to: None, value };
            self.running.entry(cpu).or_insert(turn);
        }
    }

    /// Returns the turns without an end, by CPU.
    pub fn finish(&mut self) -> Vec<Turn<T>> {
        let running = self.running.drain().map(|(_, turn)| turn);
        let mut open: Vec<Turn<T>> = running.filter(|turn| turn.task.thread != 0).collect();
        open.sort_by_key(|turn| turn.cpu);
        open
    }
}

/// Returns the time of a wake-up in nanoseconds, which is before its record if a slice begins with
/// it.
#[must_use]
pub fn wakeup_nanos(item: &Item<'_>, wakeup: &ThreadWakeup<'_>) -> u64 {
    let age = age(item, &wakeup.arguments).unwrap_or(0);
    item.nanos(wakeup.ticks).saturating_sub(age)
}

/// Returns whether an event is the end of a thread.
pub(crate) fn is_exit(item: &Item<'_>, event: &Event<'_>) -> bool {
    matches!(event.kind, EventKind::Instant { .. })
        && item.text(event.name) == EXIT.1
        && item.text(event.category) == EXIT.0
}

/// Returns for how many nanoseconds a thread has had its state, if a slice begins with the record.
fn age(item: &Item<'_>, arguments: &Arguments<'_>) -> Option<u64> {
    arguments::named_unsigned(item, arguments, STATE_AGE)
}

fn koid(item: &Item<'_>, arguments: &Arguments<'_>, name: &str) -> Option<u64> {
    arguments::named(item, arguments, name).find_map(|value| match value {
        Value::Koid(koid) => Some(koid),
        _ => None,
    })
}

/// Returns whether there are arguments that this module does not read.
pub fn has_other_arguments(item: &Item<'_>, arguments: &Arguments<'_>) -> bool {
    const KNOWN: [&str; 4] = ["outgoing_weight", "incoming_weight", "weight", ADDED];
    let is_known = |name: &str| KNOWN.contains(&name) || waker::NAMES.contains(&name);
    arguments.iter().any(|argument| !is_known(&item.text(argument.name)))
}
