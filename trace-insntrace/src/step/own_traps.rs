//! Traps of the program itself, which have the number and perhaps the code of the tracer's.
//!
//! A thread may queue a SIGTRAP with any code, for itself only. The kernel keeps one signal of a
//! number for a thread, so that it takes the place of the report of the step over that system call.
//! One for the process comes after that report.

use super::branch::Memory;
use super::memory::OwnMemory;
use super::ptrace::{signal_code, Registers, Stop, Tid};
use super::tracer::Tracer;

/// The offset of `si_code` in the information of a signal.
const CODE: u64 = 8;

/// The numbers of `rt_sigqueueinfo` and `rt_tgsigqueueinfo` in 32-bit programs.
const QUEUE_32: u64 = 178;
const QUEUE_THREAD_32: u64 = 335;

impl Tracer {
    /// Returns the stop, or that of the signal if the program itself has caused it.
    pub(super) fn own_trap(&self, tid: Tid, stop: Stop, registers: &Registers) -> Stop {
        let is_own = match stop {
            Stop::Step => self.executes_int1(tid) || queues_trap(tid, registers),
            Stop::Handler | Stop::Breakpoint | Stop::HardwareBreakpoint => {
                queues_trap(tid, registers)
            }
            _ => false,
        };
        if is_own {
            Stop::Signal(libc::SIGTRAP)
        } else {
            stop
        }
    }

    /// Returns whether the last step was that of `int1`. Some virtual machines do not go past it.
    fn executes_int1(&self, tid: Tid) -> bool {
        let Some(thread) = self.threads.get(&tid) else { return false };
        self.spaces.get(&thread.space).is_some_and(|space| space.is_int1(thread.ip))
    }
}

/// Returns whether a thread is at the end of a system call that has queued the SIGTRAP of this stop
/// for itself, with a code of the kernel. Nobody else may use these.
fn queues_trap(tid: Tid, registers: &Registers) -> bool {
    let all = &registers.all;
    let (signal, information) = match (registers.is_64_bit, all.orig_rax) {
        (true, call) if call == libc::SYS_rt_sigqueueinfo as u64 => (all.rsi, all.rdx),
        (true, call) if call == libc::SYS_rt_tgsigqueueinfo as u64 => (all.rdx, all.r10),
        (false, QUEUE_32) => (all.rcx, all.rdx),
        (false, QUEUE_THREAD_32) => (all.rdx, all.rsi),
        _ => return false,
    };
    let queued = || OwnMemory(tid).read(information.wrapping_add(CODE)).map(|word| word as i32);
    let is_queued = all.rax == 0 && signal as i32 == libc::SIGTRAP;
    is_queued && queued().is_some_and(|code| signal_code(tid).is_ok_and(|it| it == code))
}
