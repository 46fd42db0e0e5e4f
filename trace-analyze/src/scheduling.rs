//! Scheduling records: switches of CPUs from one thread to another, and the turns between them.

use std::collections::HashMap;

use trace_format::layout::ThreadState;
use trace_format::{Arguments, Item, Record, ThreadKoids, Value};

use crate::arguments;
use crate::carried::ADDED;

/// The weight that says that a processor is idle.
const IDLE: i64 = i32::MIN as i64;

/// A thread that a CPU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// 0 if it is none: the processor is idle.
    pub thread: u64,
    /// Of Linux's threads the priority.
    pub weight: Option<i64>,
}

impl Task {
    /// `name` is that of the argument with the weight.
    pub fn of(item: &Item<'_>, thread: u64, arguments: &Arguments<'_>, name: &str) -> Self {
        let weight = arguments::named(item, arguments, name).find_map(|value| match value {
            Value::Int32(value) => Some(value.into()),
            Value::Uint32(value) => Some(value.into()),
            Value::Int64(value) => Some(value),
            _ => None,
        });
        match weight {
            Some(IDLE) => Self { thread: 0, weight: None },
            weight => Self { thread, weight },
        }
    }
}

/// A CPU, with the provider whose records are about it.
pub type Cpu = (Option<u32>, u16);

/// A change of the thread that a CPU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// The CPU.
    pub cpu: Cpu,
    /// When, in nanoseconds.
    pub nanos: u64,
    /// The thread that ran.
    pub outgoing: Task,
    /// The state of that thread from now on.
    pub state: ThreadState,
    /// The thread that runs now.
    pub incoming: Task,
    /// Both threads, if the record names their processes.
    pub koids: Option<(ThreadKoids, ThreadKoids)>,
}

impl Switch {
    /// Returns the switch that `item`'s record is, if it is one.
    #[must_use]
    pub fn of(item: &Item<'_>) -> Option<Self> {
        match &item.record {
            Record::ContextSwitch(switch) => {
                let task = |thread, weight| Task::of(item, thread, &switch.arguments, weight);
                Some(Self {
                    cpu: (item.provider.id(), switch.cpu),
                    nanos: item.nanos(switch.ticks),
                    outgoing: task(switch.outgoing_thread, "outgoing_weight"),
                    state: switch.outgoing_state,
                    incoming: task(switch.incoming_thread, "incoming_weight"),
                    koids: None,
                })
            }
            Record::LegacyContextSwitch(switch) => {
                let task = |koids: ThreadKoids, priority: u8| Task {
                    thread: koids.thread,
                    weight: Some(priority.into()),
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
                })
            }
            _ => None,
        }
    }
}

/// A time of a thread on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<T> {
    /// The CPU.
    pub cpu: Cpu,
    /// The thread, never that of an idle CPU.
    pub task: Task,
    /// The thread's process, if it is known.
    pub process: Option<u64>,
    /// Since when, in nanoseconds; `None` if that is before the CPU's first switch.
    pub from: Option<u64>,
    /// Until when, with the thread's state from then on; `None` if that is missing.
    pub to: Option<(u64, ThreadState)>,
    /// What goes with the switch at its begin.
    pub value: T,
}

/// Puts turns together from the switches of each CPU in the order of time.
#[derive(Debug, Default)]
pub struct Turns<T> {
    running: HashMap<Cpu, Turn<T>>,
}

impl<T: Copy + Default> Turns<T> {
    /// Takes the next switch; returns the turn that it ends. If the thread that goes is not the one
    /// that came, what happened between is missing, and so is the turn's end.
    pub fn push(&mut self, switch: &Switch, value: T) -> Option<Turn<T>> {
        let Switch { cpu, nanos, outgoing, state, incoming, koids } = *switch;
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
        let is_end = turn.task.thread == outgoing.thread;
        let turn = Turn { to: is_end.then_some((nanos, state)), ..turn };
        Some(turn).filter(|turn| turn.task.thread != 0)
    }

    /// Returns the turns that have not ended, by CPU.
    pub fn finish(&mut self) -> Vec<Turn<T>> {
        let running = self.running.drain().map(|(_, turn)| turn);
        let mut open: Vec<Turn<T>> = running.filter(|turn| turn.task.thread != 0).collect();
        open.sort_by_key(|turn| turn.cpu);
        open
    }
}

/// Returns the thread that woke the other one up, if the record says so.
pub fn waker(item: &Item<'_>, arguments: &Arguments<'_>) -> Option<u64> {
    arguments::named(item, arguments, "waker").find_map(|value| match value {
        Value::Koid(koid) => Some(koid),
        _ => None,
    })
}

/// Tells whether the arguments say more than is said here.
pub fn say_more(item: &Item<'_>, arguments: &Arguments<'_>) -> bool {
    const KNOWN: [&str; 5] = ["outgoing_weight", "incoming_weight", "weight", "waker", ADDED];
    arguments.iter().any(|argument| !KNOWN.contains(&&*item.text(argument.name)))
}
