//! What the records of frequent events have. A destination may have its own way to write them.

use trace_format::layout::ThreadState;
use trace_format::ThreadKoids;

use super::call_names::CallNames;
use crate::event::Context;

/// The number of registers that a system call may have as arguments.
pub(crate) const REGISTERS: usize = 6;

/// A switch of a CPU from one thread to another.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// When it happened, in ticks of the destination's clock.
    pub ticks: u64,
    /// The CPU.
    pub cpu: u16,
    /// The thread that ran, with its priority if it is known.
    pub outgoing: (u64, Option<i32>),
    /// The state of that thread from now on.
    pub state: ThreadState,
    /// The thread that runs now, with its priority if it is known.
    pub incoming: (u64, Option<i32>),
}

/// A wake-up of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Wakeup {
    /// When it happened, in ticks of the destination's clock.
    pub ticks: u64,
    /// The CPU that the thread is going to run on.
    pub cpu: u16,
    /// The thread, with its priority if it is known.
    pub thread: (u64, Option<i32>),
    /// The code that woke it up, and the thread of the CPU that executed it, if they are known.
    pub by: Option<(Context, u64)>,
}

/// A system call.
#[derive(Clone, Copy, Debug)]
pub struct SystemCall {
    /// When it began, in ticks of the destination's clock.
    pub start: u64,
    /// When it ended, in ticks; `None` if it has not ended.
    pub end: Option<u64>,
    /// The thread that made it.
    pub thread: ThreadKoids,
    /// Its number.
    pub number: i64,
    /// The names of system calls.
    pub names: CallNames,
    /// Six registers; the call may have fewer arguments.
    pub registers: [u64; REGISTERS],
    /// What it returned; `None` if it has not returned.
    pub result: Option<i64>,
}
