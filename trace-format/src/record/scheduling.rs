//! Scheduling records.

use super::{Arguments, Thread};
use crate::layout::ThreadState;

/// A CPU went from one thread to another, with priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyContextSwitch {
    /// When it happened, in ticks.
    pub ticks: u64,
    /// The CPU's number.
    pub cpu: u8,
    /// What the outgoing thread does from now on; 4 bits are stored.
    pub outgoing_state: ThreadState,
    /// The thread that ran until now.
    pub outgoing: Thread,
    /// The thread that runs from now on.
    pub incoming: Thread,
    /// The outgoing thread's priority.
    pub outgoing_priority: u8,
    /// The incoming thread's priority.
    pub incoming_priority: u8,
}

/// A CPU went from one thread to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextSwitch<'a> {
    /// When it happened, in ticks.
    pub ticks: u64,
    /// The CPU's number.
    pub cpu: u16,
    /// What the outgoing thread does from now on; 4 bits are stored.
    pub outgoing_state: ThreadState,
    /// The koid of the thread that ran until now.
    pub outgoing_thread: u64,
    /// The koid of the thread that runs from now on.
    pub incoming_thread: u64,
    /// More about it, at most 15; by convention `outgoing_weight` and
    /// `incoming_weight` as signed integers of 32 bits.
    pub arguments: Arguments<'a>,
}

/// A thread can run again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadWakeup<'a> {
    /// When it happened, in ticks.
    pub ticks: u64,
    /// The number of the CPU it is to run on.
    pub cpu: u16,
    /// The thread's koid.
    pub thread: u64,
    /// More about it, at most 15; by convention `weight` as a signed integer
    /// of 32 bits.
    pub arguments: Arguments<'a>,
}
