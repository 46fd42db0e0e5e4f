//! The packets of a block, or of a part of it.

use std::collections::VecDeque;

use super::code::Space;
use super::thread::{Executed, Thread};
use crate::recording::Note;

impl Thread {
    /// Execution of the block has reached `ip`. Returns the number of executed instructions, or
    /// `None` if `ip` is not in the rest of the block.
    pub(super) fn reach(
        &mut self,
        space: &Space,
        ip: u64,
        out: &mut VecDeque<Executed>,
    ) -> Option<u64> {
        let (block, from) = self.run.block.clone()?;
        let rest = block.instructions.get(from..)?;
        let count = rest.iter().position(|(instruction, _)| instruction.ip == ip)?;
        for two in rest.get(..=count)?.windows(2) {
            let [decoded, (next, _)] = two else { continue };
            self.executed(space, *decoded, next.ip, out);
            self.ip = next.ip;
        }
        self.run.block = Some((block, from + count));
        Some(count as u64)
    }

    /// The thread is stopped at `ip`, and its block ends. Returns the number of executed
    /// instructions.
    pub(super) fn arrive(
        &mut self,
        space: &mut Space,
        ip: u64,
        notes: &mut Vec<Note>,
        out: &mut VecDeque<Executed>,
    ) -> u64 {
        let reached = self.reach(space, ip, out);
        if self.run.block.take().is_some() {
            self.fetched = None;
        }
        self.run.steps = 0;
        if self.ip != ip {
            // The kernel has moved the thread, or two instructions were executed in one step.
            self.encode(space, ip, notes, out);
            self.ip = ip;
        }
        reached.unwrap_or(0)
    }
}
