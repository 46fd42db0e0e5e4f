//! The copy of the flags that `syscall` leaves in R11.
//!
//! The kernel hides the trap flag of a step from the flags of a program, but not from this copy. A
//! program that loads flags from R11 when it is not traced any more would get SIGTRAP. The first
//! stop in the call, or behind it, clears the flag in R11. It comes before the frame of a signal
//! handler is built.
//!
//! A new thread or process gets R11 from its creator, which is in a call. If the new one is not
//! traced, its R11 cannot be changed: [`mask_calls`](super::mask_calls) makes such calls without a
//! step.

use std::io;

use super::calls::SYSTEM_CALL;
use super::memory::OwnMemory;
use super::ptrace::{self, Registers, Tid};
use super::tracer::Tracer;

/// The number in `orig_rax` of a thread that is not in a system call.
const NO_CALL: u64 = u64::MAX;

impl Tracer {
    /// Removes the trap flag from R11 if a system call has copied it there.
    ///
    /// It is not the program's own flag, which is removed when it is loaded.
    pub(super) fn clear_copied_flag(&self, tid: Tid, registers: &mut Registers) -> io::Result<()> {
        if !ptrace::has_trap_flag(registers.all.r11) || !self.has_called(tid, registers) {
            return Ok(());
        }
        registers.all.r11 = ptrace::clear_copied_trap_flag(tid, registers.all.r11)?;
        Ok(())
    }

    /// Returns whether a stopped thread is in a call by `syscall`, or behind it. `rt_sigreturn`
    /// does not count: it loads R11, and leaves no number.
    fn has_called(&self, tid: Tid, registers: &Registers) -> bool {
        // `syscall` leaves its end in RCX. Calls of 32-bit programs do not.
        let is_behind = registers.is_64_bit && registers.all.rcx == registers.ip;
        if !is_behind {
            return false;
        }
        let at = registers.ip.wrapping_sub(SYSTEM_CALL.len() as u64);
        let has_number = registers.all.orig_rax != NO_CALL || self.calls_no_number(tid, at);
        let code = || OwnMemory(tid).read_parts(&[(at, SYSTEM_CALL.len())]);
        has_number && code().is_some_and(|code| code == SYSTEM_CALL)
    }

    /// Returns whether the last step of a thread, at `at`, has made the call of this number.
    fn calls_no_number(&self, tid: Tid, at: u64) -> bool {
        let Some(thread) = self.threads.get(&tid) else { return false };
        let before = thread.run.registers;
        before.is_some_and(|before| before.ip == at && before.all.rax == NO_CALL)
    }
}
