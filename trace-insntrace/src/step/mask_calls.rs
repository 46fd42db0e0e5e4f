//! The stops of threads whose mask of blocked signals matters: see [`trap_mask`](super::trap_mask).

use std::io;

use super::calls::SYSTEM_CALL;
use super::ptrace::{self, Stop, Tid};
use super::status::{handles, has_pending_signal};
use super::tracer::Tracer;
use super::trap_mask::MaskCall;

/// The system calls at whose end another mask may be there than at their begin.
const CHANGE_MASK: [libc::c_long; 8] = [
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_pselect6,
    libc::SYS_ppoll,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_uring_enter,
];

/// The system calls that create a thread or a process, which has the registers of its creator from
/// the begin of the call: see [`copied_flags`](super::copied_flags).
const COPY_REGISTERS: [libc::c_long; 4] =
    [libc::SYS_clone, libc::SYS_clone3, libc::SYS_fork, libc::SYS_vfork];

/// The system call that a thread makes next.
#[derive(Debug, Clone, Copy)]
struct NextCall {
    /// Whether it may change the mask.
    changes_mask: bool,
    /// Whether it copies the registers.
    copies_registers: bool,
    /// Whether the thread is at its begin.
    is_entered: bool,
}

impl Tracer {
    /// Returns the stop without those of system calls that change masks: their end is that of a
    /// step, and their begin is `None`.
    pub(super) fn without_mask_calls(&mut self, tid: Tid, stop: Stop) -> io::Result<Option<Stop>> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(Some(stop)) };
        let mask = &mut thread.mask;
        match (mask.call, stop) {
            (MaskCall::Next, Stop::SystemCall) => {
                mask.call = MaskCall::Entered;
                return mask.hide(tid, false).map(|()| None);
            }
            (MaskCall::Entered, Stop::SystemCall) => {
                (mask.call, mask.is_stale) = (MaskCall::None, true);
                return Ok(Some(Stop::Step));
            }
            (MaskCall::Entered, Stop::NewTask(_)) => {}
            _ => mask.call = MaskCall::None,
        }
        // The frame of the handler has the program's mask.
        mask.is_stale |= stop == Stop::Handler && !mask.is_hidden;
        Ok(Some(stop))
    }

    /// Continues a thread that is in a system call, to its end.
    pub(super) fn run_call(&mut self, tid: Tid) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.mask.give_back(thread.pid, tid)?;
        ptrace::run(tid)
    }

    /// Prepares the mask of a stopped thread that executes code next.
    pub(super) fn hide_trap(&mut self, tid: Tid) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.mask.update(tid)?;
        thread.mask.hide(tid, true)
    }

    /// Gives a thread that is not stepped its own mask.
    pub(super) fn show_trap(&mut self, tid: Tid) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        thread.mask.hide(tid, false)?;
        thread.mask.give_back(thread.pid, tid)?;
        // Other code may change it.
        (thread.mask.is_stale, thread.mask.call) = (true, MaskCall::None);
        Ok(())
    }

    /// Prepares the mask of a thread for its next step. Returns whether the thread is to run to the
    /// begin or the end of a system call in place of the step.
    pub(super) fn prepare_mask(&mut self, tid: Tid) -> io::Result<bool> {
        let call = self.next_call(tid);
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(false) };
        let (was_stale, mask) = (thread.mask.is_stale, &mut thread.mask);
        mask.update(tid)?;
        let stops =
            call.is_some_and(|call| mask.is_blocked || call.changes_mask || call.copies_registers);
        mask.call = match call {
            Some(call) if stops && call.is_entered => MaskCall::Entered,
            // A handler begins with a stop only if it is stepped.
            _ if stops && thread.signal == 0 => MaskCall::Next,
            _ => MaskCall::None,
        };
        // Nothing tells of the end of such a call.
        mask.is_stale |= stops && mask.call == MaskCall::None && !mask.is_blocked;
        if mask.is_blocked && was_stale && has_pending_signal(tid) {
            // The call had a mask of its own, and the signal interrupts the thread now.
            mask.is_stale = true;
            return Ok(mask.call != MaskCall::None);
        }
        let is_handled = thread.signal != 0 && mask.is_blocked && handles(tid, thread.signal);
        mask.hide(tid, mask.call != MaskCall::Entered && !is_handled)?;
        Ok(mask.call != MaskCall::None)
    }

    /// Returns the system call that a thread makes in its next step, or has begun.
    fn next_call(&self, tid: Tid) -> Option<NextCall> {
        let thread = self.threads.get(&tid)?;
        let registers = thread.run.registers?;
        let (is_entered, restarts) = (thread.run.is_calling, thread.restarts());
        let is_begun = is_entered || restarts;
        if !is_begun {
            let is_next = registers.ip == thread.ip && thread.has_fetched_far();
            let space = self.spaces.get(&thread.space).filter(|_| is_next)?;
            space.code_of(thread.ip).filter(|code| *code == SYSTEM_CALL)?;
        }
        let number = if is_begun { registers.all.orig_rax } else { registers.all.rax };
        let number = libc::c_long::from(number as i32);
        let changes_mask = CHANGE_MASK.contains(&number);
        let copies_registers = COPY_REGISTERS.contains(&number);
        Some(NextCall { changes_mask, copies_registers, is_entered })
    }
}
