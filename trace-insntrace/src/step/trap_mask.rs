//! Threads that block SIGTRAP, such as in a handler of it.
//!
//! The kernel reports a step, and a breakpoint, by a SIGTRAP that it does not let be blocked: it
//! unblocks the signal, and resets its action to the default. The next SIGTRAP of the program would
//! end it. While code is executed, SIGTRAP is therefore taken out of the mask of such a thread. The
//! kernel has the program's mask where it uses it, and where no such report can come:
//!
//! ```text
//!  code ───► stop at the begin of a system call ───► stop at its end ───► code
//!  hidden    the mask of the program                                      hidden
//!
//!  code ───► signal with a handler ───► stop before the handler ───► code of the handler
//!  hidden    the mask of the program, which is kept in the frame         hidden
//! ```

use std::io;

use super::ptrace::{self, Tid};

/// SIGTRAP in a mask.
const TRAP: u64 = 1 << (libc::SIGTRAP - 1);

/// What is known about SIGTRAP in the mask of a thread.
#[derive(Debug)]
pub(super) struct TrapMask {
    /// Whether the program has blocked it.
    pub(super) is_blocked: bool,
    /// Whether it was taken out of the mask.
    pub(super) is_hidden: bool,
    /// Whether the mask may have changed.
    pub(super) is_stale: bool,
    /// Whether the program has got one that it blocks.
    is_held: bool,
    pub(super) call: MaskCall,
}

/// A system call of which the begin and the end are stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaskCall {
    None,
    /// It is the next instruction.
    Next,
    Entered,
}

impl TrapMask {
    pub(super) fn new() -> Self {
        Self {
            is_blocked: false,
            is_hidden: false,
            is_stale: true,
            is_held: false,
            call: MaskCall::None,
        }
    }

    /// Returns the signal that the program gets: not a SIGTRAP that it blocks.
    pub(super) fn filter(&mut self, signal: i32) -> i32 {
        if signal != libc::SIGTRAP || !self.is_blocked {
            return signal;
        }
        self.is_held = true;
        0
    }

    /// Returns whether the thread is in a system call whose end is a stop.
    pub(super) fn is_in_call(&self) -> bool {
        self.call == MaskCall::Entered
    }

    /// Reads the mask if it may have changed.
    pub(super) fn update(&mut self, tid: Tid) -> io::Result<()> {
        if self.is_stale {
            self.is_blocked = ptrace::signal_mask(tid)? & TRAP != 0;
            (self.is_stale, self.is_hidden) = (false, false);
        }
        Ok(())
    }

    /// Takes SIGTRAP out of the mask of a stopped thread, or puts it back.
    pub(super) fn hide(&mut self, tid: Tid, hides: bool) -> io::Result<()> {
        if !self.is_blocked || self.is_hidden == hides {
            return Ok(());
        }
        let mask = ptrace::signal_mask(tid)?;
        ptrace::set_signal_mask(tid, if hides { mask & !TRAP } else { mask | TRAP })?;
        self.is_hidden = hides;
        Ok(())
    }

    /// Gives a stopped thread, which is released, its mask, and the signal that it blocks.
    pub(super) fn restore(&mut self, pid: i32, tid: Tid) {
        // These fail only if the thread has ended.
        let _ = self.hide(tid, false);
        let _ = self.give_back(pid, tid);
        self.call = MaskCall::None;
    }

    /// Lets a blocked signal wait in the kernel, where the program may ask for it.
    pub(super) fn give_back(&mut self, pid: i32, tid: Tid) -> io::Result<()> {
        match std::mem::take(&mut self.is_held) {
            true => ptrace::send(pid, tid, libc::SIGTRAP),
            false => Ok(()),
        }
    }
}
