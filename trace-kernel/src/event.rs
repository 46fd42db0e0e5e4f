//! Events of the kernel as values.

use trace_format::layout::ThreadState;

use crate::byte_order::ByteOrder;
use crate::format::EventFormat;

/// An event with its time and place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry<'a> {
    /// When it happened, in units of the trace clock.
    pub ticks: u64,
    /// The CPU that it happened on.
    pub cpu: u16,
    /// The thread that ran there, 0 if the CPU was idle.
    pub thread: u64,
    /// What the CPU executed.
    pub context: Context,
    /// The event.
    pub event: Event<'a>,
}

/// What a CPU executes when an event happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// Code of the thread, or of a system call that it made.
    #[default]
    Thread,
    /// Deferred work of an interrupt, or of a system call of the thread.
    SoftInterrupt,
    /// An interrupt, such as a timer. The thread has no part in it.
    HardInterrupt,
}

impl Context {
    /// Returns the context that the field `common_flags` of an event has.
    #[must_use]
    pub fn of_flags(flags: u64) -> Self {
        const HARD: u64 = 0x08;
        const SOFT: u64 = 0x10;
        const NOT_MASKABLE: u64 = 0x40;
        match flags {
            _ if flags & (HARD | NOT_MASKABLE) != 0 => Self::HardInterrupt,
            _ if flags & SOFT != 0 => Self::SoftInterrupt,
            _ => Self::Thread,
        }
    }

    /// Returns the context that the third letter of ftrace's flags has, as in `d.h2.`.
    #[must_use]
    pub fn of_letters(flags: &str) -> Self {
        match flags.as_bytes().get(2) {
            Some(b'h' | b'H' | b'z' | b'Z') => Self::HardInterrupt,
            Some(b's') => Self::SoftInterrupt,
            _ => Self::Thread,
        }
    }
}

/// A thread as the scheduler's events describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task<'a> {
    /// Its name, of at most 15 bytes.
    pub name: &'a str,
    /// Its id, 0 if it is the idle thread of a CPU.
    pub thread: u64,
    /// Its priority, if it is known: 0 to 99 for real-time threads, 100 to 139 for others, less for
    /// deadlines.
    pub priority: Option<i32>,
}

/// An event of the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// `sched_switch`: a CPU runs another thread.
    Switch {
        /// The thread that ran.
        outgoing: Task<'a>,
        /// Its state from now on.
        state: ThreadState,
        /// The thread that runs now.
        incoming: Task<'a>,
    },
    /// `sched_waking`, on the CPU of the thread that wakes it up.
    Waking {
        /// The thread that is woken.
        task: Task<'a>,
        /// The CPU that it is going to run on.
        cpu: u16,
    },
    /// `sched_wakeup` and `sched_wakeup_new`: the thread is on the list of its CPU.
    Wakeup {
        /// The thread that is woken.
        task: Task<'a>,
        /// Its CPU.
        cpu: u16,
    },
    /// `sched_migrate_task`: a thread moves to another CPU.
    Migrate {
        /// The thread.
        task: Task<'a>,
        /// Its CPU before.
        from: u16,
        /// Its CPU from now on.
        to: u16,
    },
    /// `sched_process_fork`: the thread has created another one.
    Fork {
        /// The new thread.
        child: u64,
        /// Its name.
        name: &'a str,
    },
    /// `task_newtask`: the same, with the relation of the two.
    NewTask {
        /// The new thread.
        child: u64,
        /// Its name.
        name: &'a str,
        /// Whether it belongs to the process of the thread that created it.
        is_in_process: bool,
    },
    /// `sched_process_exec`: a process runs another program.
    Exec {
        /// The process, and its only thread from now on.
        thread: u64,
        /// The id of this thread until now: another one if it was not the process's first thread,
        /// which has ended then.
        former: u64,
        /// The program's file; empty if it is unknown.
        file: &'a str,
    },
    /// `sched_process_exit`: a thread ends.
    Exit {
        /// The thread.
        task: Task<'a>,
    },
    /// `task_rename`: a thread gets another name.
    Rename {
        /// The thread.
        thread: u64,
        /// Its name from now on.
        name: &'a str,
    },
    /// `sys_enter`: a system call begins.
    SyscallEnter {
        /// Its number.
        number: i64,
        /// Six registers; the call may have fewer arguments.
        arguments: [u64; 6],
    },
    /// `sys_exit`: a system call ends.
    SyscallExit {
        /// Its number.
        number: i64,
        /// What it returns.
        result: i64,
    },
    /// `irq_handler_entry`: a handler of an interrupt begins.
    IrqEnter {
        /// The interrupt's number.
        irq: i64,
        /// The handler's name.
        name: &'a str,
    },
    /// `irq_handler_exit`: a handler of an interrupt ends.
    IrqExit {
        /// The interrupt's number.
        irq: i64,
        /// Whether the interrupt was for this handler.
        is_handled: bool,
    },
    /// `softirq_entry`: deferred work begins.
    SoftirqEnter {
        /// Its number.
        vector: i64,
        /// Its name, such as `TIMER`.
        name: &'a str,
    },
    /// `softirq_exit`: deferred work ends.
    SoftirqExit {
        /// Its number.
        vector: i64,
    },
    /// `printk/console`: a line of the kernel's log.
    Log {
        /// The line.
        text: &'a str,
    },
    /// `cpu_frequency`: a CPU has another frequency from now on.
    Frequency {
        /// The CPU.
        cpu: u16,
        /// Its frequency in kHz.
        khz: u64,
    },
    /// `rss_stat`: a process has more or less memory of a kind.
    ResidentMemory {
        /// The number of its address space, which is unique while that exists.
        space: u64,
        /// Whether the space is that of the thread that ran.
        is_own: bool,
        /// The kind of memory: `MM_FILEPAGES`, `MM_ANONPAGES`, `MM_SWAPENTS` or `MM_SHMEMPAGES`.
        kind: &'a str,
        /// The memory in bytes.
        bytes: i64,
    },
    /// `print`: a program has written to `trace_marker`.
    Marker {
        /// The text, without a line feed at its end.
        text: &'a str,
    },
    /// Any other event, and one that lacks a field.
    Other {
        /// Its format.
        format: &'a EventFormat,
        /// Its fields, from the id on.
        payload: &'a [u8],
        /// The byte order of its fields.
        order: ByteOrder,
    },
    /// An event without a format.
    Unknown {
        /// Its id.
        id: u16,
    },
}
