//! The events that are decoded, with their fields.

use trace_format::layout::ThreadState;

use super::values::Values;
use crate::byte_order::ByteOrder;
use crate::event::Event;
use crate::format::{EventFormat, Field};
use crate::state::thread_state;

/// The flag of `clone` for a thread of the same process.
const CLONE_THREAD: i64 = 0x10000;

/// Makes an event of its values; `None` if one is missing.
type Make = for<'a> fn(&Values<'a>) -> Option<Event<'a>>;

/// System, name and fields of each event. A value is found by its field's place in the list.
const KINDS: &[(&str, &str, &[&str], Make)] = &[
    (
        "sched",
        "sched_switch",
        &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
        |it| {
            let (outgoing, state, incoming) = (it.task(0)?, it.state(3)?, it.task(4)?);
            Some(Event::Switch { outgoing, state, incoming })
        },
    ),
    ("sched", "sched_waking", &["comm", "pid", "prio", "target_cpu"], |it| {
        Some(Event::Waking { task: it.task(0)?, cpu: it.cpu(3)? })
    }),
    ("sched", "sched_wakeup", WAKEUP, wakeup),
    ("sched", "sched_wakeup_new", WAKEUP, wakeup),
    ("sched", "sched_migrate_task", &["comm", "pid", "prio", "orig_cpu", "dest_cpu"], |it| {
        Some(Event::Migrate { task: it.task(0)?, from: it.cpu(3)?, to: it.cpu(4)? })
    }),
    ("sched", "sched_process_fork", &["child_pid", "child_comm"], |it| {
        Some(Event::Fork { child: it.thread(0)?, name: it.text(1)? })
    }),
    ("sched", "sched_process_exec", &["pid", "filename", "old_pid"], |it| {
        let thread = it.thread(0)?;
        let former = it.thread(2).unwrap_or(thread);
        Some(Event::Exec { thread, former, file: it.text(1)? })
    }),
    ("sched", "sched_process_exit", &["comm", "pid", "prio"], |it| {
        Some(Event::Exit { task: it.task(0)? })
    }),
    ("task", "task_newtask", &["pid", "comm", "clone_flags"], |it| {
        let is_in_process = it.integer(2)? & CLONE_THREAD != 0;
        Some(Event::NewTask { child: it.thread(0)?, name: it.text(1)?, is_in_process })
    }),
    ("task", "task_rename", &["pid", "newcomm"], |it| {
        Some(Event::Rename { thread: it.thread(0)?, name: it.text(1)? })
    }),
    ("raw_syscalls", "sys_enter", &["id", "args"], |it| {
        Some(Event::SyscallEnter { number: it.integer(0)?, arguments: it.numbers(1)? })
    }),
    ("raw_syscalls", "sys_exit", &["id", "ret"], |it| {
        Some(Event::SyscallExit { number: it.integer(0)?, result: it.integer(1)? })
    }),
    ("irq", "irq_handler_entry", &["irq", "name"], |it| {
        Some(Event::IrqEnter { irq: it.integer(0)?, name: it.text(1)? })
    }),
    ("irq", "irq_handler_exit", &["irq", "ret"], |it| {
        Some(Event::IrqExit { irq: it.integer(0)?, is_handled: it.integer(1)? != 0 })
    }),
    ("irq", "softirq_entry", &["vec"], |it| {
        Some(Event::SoftirqEnter { vector: it.integer(0)?, name: it.symbol(0)? })
    }),
    ("irq", "softirq_exit", &["vec"], |it| Some(Event::SoftirqExit { vector: it.integer(0)? })),
    ("printk", "console", &["msg"], |it| {
        Some(Event::Log { text: it.text(0)?.trim_end_matches('\n') })
    }),
    ("power", "cpu_frequency", &["state", "cpu_id"], |it| {
        Some(Event::Frequency { khz: it.integer(0)?.try_into().ok()?, cpu: it.cpu(1)? })
    }),
    ("kmem", "rss_stat", &["member", "mm_id", "curr", "size"], |it| {
        Some(Event::ResidentMemory {
            kind: it.symbol(0)?,
            space: it.integer(1)? as u64,
            is_own: it.integer(2)? != 0,
            bytes: it.integer(3)?,
        })
    }),
    ("ftrace", "print", &["buf"], |it| {
        Some(Event::Marker { text: it.text(0)?.trim_end_matches('\n') })
    }),
];

/// Kernels before 4.3 write the event also if the thread was awake, with `success` 0.
const WAKEUP: &[&str] = &["comm", "pid", "prio", "target_cpu", "success"];

fn wakeup<'a>(it: &Values<'a>) -> Option<Event<'a>> {
    let is_awake = it.integer(4) == Some(0);
    let (task, cpu) = (it.task(0)?, it.cpu(3)?);
    (!is_awake).then_some(Event::Wakeup { task, cpu })
}

/// How the events of a format are decoded.
pub(super) struct Kind {
    /// The format's fields, in the order of the list.
    fields: Vec<Option<Field>>,
    /// The states of threads, by their bit.
    states: Vec<(u64, ThreadState)>,
    make: Make,
}

impl Kind {
    /// Returns `None` if the events are not in the list.
    pub(super) fn of(format: &EventFormat) -> Option<Self> {
        let is_it = |system: &str, name: &str| *format.system == *system && *format.name == *name;
        let (_, _, names, make) = KINDS.iter().find(|(system, name, ..)| is_it(system, name))?;
        let fields = names.iter().map(|name| format.field(name).cloned()).collect();
        Some(Self { fields, states: thread_states(format), make: *make })
    }

    /// Returns the event; `None` if the format or the payload lacks a field.
    pub(super) fn event<'a>(
        &'a self,
        format: &'a EventFormat,
        payload: &'a [u8],
        order: ByteOrder,
    ) -> Option<Event<'a>> {
        let (fields, states) = (&self.fields, &self.states);
        (self.make)(&Values { fields, states, format, payload, order })
    }
}

/// Returns the states of threads that a format has, by their bit.
pub(crate) fn thread_states(format: &EventFormat) -> Vec<(u64, ThreadState)> {
    let states = format.symbols.iter();
    states.filter_map(|(bit, letters)| Some((*bit, thread_state(letters)?))).collect()
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kind").field("fields", &self.fields).finish_non_exhaustive()
    }
}
