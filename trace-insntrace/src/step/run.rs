//! How a thread executes blocks.

use std::rc::Rc;

use super::blocks::Block;
use super::ptrace::Registers;

/// The state of a thread that executes blocks.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The registers of the last stop, or those with which the thread continues.
    pub(super) registers: Option<Registers>,
    /// Whether `registers` are still to be written.
    pub(super) is_moved: bool,
    /// The block that is executed, and the index of the next instruction that has no packets yet.
    pub(super) block: Option<(Rc<Block>, usize)>,
    /// Whether the thread is stopped between two instructions, with no work of the kernel left.
    pub(super) is_between: bool,
    /// Whether the thread runs, perhaps to a breakpoint.
    pub(super) is_running: bool,
    /// Whether the thread is in a system call that was prepared.
    pub(super) in_call: bool,
    /// How many steps are made before the next block.
    pub(super) steps: usize,
    /// Whether the thread is stopped where a system call begins.
    pub(super) is_calling: bool,
}

impl Run {
    /// The thread executes a block from now on.
    pub(super) fn begin(&mut self, block: Rc<Block>) {
        self.block = Some((block, 0));
        (self.is_between, self.is_running) = (false, true);
    }

    /// The thread makes a step, or gets the report of a breakpoint.
    pub(super) fn step(&mut self) {
        self.steps = self.steps.saturating_sub(1);
        (self.is_between, self.is_calling) = (false, false);
        self.is_running = self.block.is_some();
    }
}
