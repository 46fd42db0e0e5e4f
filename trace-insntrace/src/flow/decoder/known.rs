//! Most blocks: packets have the branches or the target behind them, and nothing else happens.

use std::ops::Range;

use super::{Caller, FlowDecoder, Position, State, Stepped};
use crate::flow::blocks::Exit;
use crate::flow::code::End;
use crate::flow::cue::{Cue, CueKind};

impl FlowDecoder {
    /// Continues where [`enter_next`](Self::enter_next) has ended.
    #[inline]
    pub(super) fn take_step(&mut self) -> Stepped {
        let takes_packet = match self.at.end {
            None | Some(End::Conditional { .. } | End::Return) => true,
            Some(End::IndirectJump | End::IndirectCall { .. }) => true,
            Some(_) => false,
        };
        if takes_packet && self.at.branches.is_empty() && self.cue.is_none() {
            return self.fetch();
        }
        self.advance()
    }

    /// Leaves the block, and executes the next one, of which it returns the instructions. Returns
    /// `None` if that takes another packet, or more than branches and targets.
    // Its callers have the position in registers only if it is inline.
    #[inline(always)]
    pub(super) fn enter_next(&mut self, at: &mut Position) -> Option<Range<usize>> {
        if let Some(end) = at.end {
            (at.ip, at.exit) = self.leave_known(end, at)?;
            at.end = None;
        }
        if at.branches.is_empty() && self.target().is_none() {
            return None;
        }
        if self.progress.is_loop(at.ip) {
            return None;
        }
        let (index, block) = self.blocks.at(at.ip, at.exit, &self.image);
        (at.end, at.exit) = (Some(block.end), Exit { block: index, taken: false });
        let run = block.range();
        self.run = run.end..run.end;
        (!run.is_empty()).then_some(run)
    }

    /// Returns the cue if it is a target in the same mode, which the next indirect branch takes.
    #[inline]
    fn target(&self) -> Option<(Cue, u64)> {
        match self.cue {
            Some(cue @ Cue { kind: CueKind::Target(target), mode: None, .. })
                if self.state == State::On =>
            {
                Some((cue, target))
            }
            _ => None,
        }
    }

    /// Returns where execution continues, and how that is reached. Errors are left to a step.
    #[inline(always)]
    fn leave_known(&mut self, end: End, at: &mut Position) -> Option<(u64, Exit)> {
        let exit = at.exit;
        match end {
            End::Next(next) | End::Jump(next) => Some((next, exit)),
            End::Call { target, return_to } => {
                if target != return_to {
                    self.stack.push(Caller { return_to, exit: exit.taken() });
                }
                Some((target, exit))
            }
            End::Conditional { target, next } => {
                let taken = at.branches.take()?;
                self.progress.reset();
                Some(if taken { (target, exit.taken()) } else { (next, exit) })
            }
            End::Return if !at.branches.is_empty() => {
                let mut branches = at.branches;
                let caller = if branches.take()? { self.stack.pop()? } else { return None };
                self.progress.reset();
                at.branches = branches;
                Some((caller.return_to, caller.exit))
            }
            End::IndirectJump | End::IndirectCall { .. } | End::Return => {
                let (cue, target) = self.target()?;
                // It has no mode, so that it cannot fail.
                self.take_cue(cue).ok()?;
                match end {
                    End::IndirectCall { return_to } => {
                        self.stack.push(Caller { return_to, exit: exit.taken() });
                    }
                    End::Return => drop(self.stack.pop()),
                    _ => {}
                }
                Some((target, exit))
            }
            _ => None,
        }
    }
}
