//! Scheduling records.

use super::{Arguments, Thread};
use crate::layout::ThreadState;

/// A context switch with thread refs and priorities ("Context Switch Record").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyContextSwitch {
    /// The time, in ticks.
    pub ticks: u64,
    /// The CPU's number.
    pub cpu: u8,
    /// The outgoing thread's state after the switch. 4 bits are stored.
    pub outgoing_state: ThreadState,
    /// The thread that stops running.
    pub outgoing: Thread,
    /// The thread that starts running.
    pub incoming: Thread,
    /// The outgoing thread's priority.
    pub outgoing_priority: u8,
    /// The incoming thread's priority.
    pub incoming_priority: u8,
}

/// A context switch with koids and arguments (scheduling type 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextSwitch<'a> {
    /// The time, in ticks.
    pub ticks: u64,
    /// The CPU's number.
    pub cpu: u16,
    /// The outgoing thread's state after the switch. 4 bits are stored.
    pub outgoing_state: ThreadState,
    /// The koid of the thread that stops running.
    pub outgoing_thread: u64,
    /// The koid of the thread that starts running.
    pub incoming_thread: u64,
    /// The arguments, at most 15. By convention `outgoing_weight` and `incoming_weight`, signed
    /// 32-bit integers.
    pub arguments: Arguments<'a>,
}

/// A thread becomes runnable (scheduling type 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadWakeup<'a> {
    /// The time, in ticks.
    pub ticks: u64,
    /// The number of the CPU that the thread will run on.
    pub cpu: u16,
    /// The thread's koid.
    pub thread: u64,
    /// The arguments, at most 15. By convention `weight`, a signed 32-bit integer.
    pub arguments: Arguments<'a>,
}
