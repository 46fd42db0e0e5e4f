//! The way through blocks: into one, and out of it by its branch.

use super::{Caller, FlowDecoder, Step, Stepped};
use crate::flow::blocks::Exit;
use crate::flow::branches::Branches;
use crate::flow::code::End;
use crate::flow::cue::{Cue, CueKind};
use crate::flow::FlowErrorKind;

impl FlowDecoder {
    /// Executes the block at `self.at.ip`, or the part of it before `place`.
    #[inline]
    pub(super) fn enter_block(&mut self, place: Option<u64>) -> Stepped {
        if self.progress.is_loop(self.at.ip) {
            return Err(FlowErrorKind::NoProgress);
        }
        let (index, block) = self.blocks.at(self.at.ip, self.at.exit, &self.image);
        self.at.exit = Exit { block: index, taken: false };
        self.run = block.range();
        self.at.end = Some(block.end);
        if let Some(place) = place {
            self.cut_block(place);
        }
        Ok(Step::Again)
    }

    #[inline(never)]
    fn cut_block(&mut self, place: u64) {
        if let Some(index) = self.blocks.find(self.run.clone(), place) {
            self.run.end = index;
            self.at.end = Some(End::Next(place));
        } else if matches!(self.at.end, Some(End::Fault { ip, .. }) if ip == place) {
            // What is there was not executed, and may be missing.
            self.at.end = Some(End::Next(place));
        }
    }

    /// Continues after the last instruction of a block.
    #[inline]
    pub(super) fn leave_block(&mut self, end: End) -> Stepped {
        let next = match end {
            End::Next(next) | End::Jump(next) => next,
            End::AddressSpace(next) => match self.cue {
                Some(Cue { kind: CueKind::Disable(None), .. }) => return self.indirect(end),
                _ => next,
            },
            End::Call { target, return_to } => {
                if target != return_to {
                    self.push_call(return_to);
                }
                target
            }
            End::Conditional { target, next } => match self.branch() {
                Some(taken) => {
                    self.at.exit.taken = taken;
                    if taken {
                        target
                    } else {
                        next
                    }
                }
                None => return self.indirect(end),
            },
            End::Return => match self.branch() {
                Some(true) => {
                    let caller = self.stack.pop().ok_or(FlowErrorKind::ReturnWithoutCall)?;
                    self.at.exit = caller.exit;
                    caller.return_to
                }
                Some(false) => return Err(FlowErrorKind::ReturnNotTaken),
                None => return self.indirect(end),
            },
            End::IndirectJump | End::IndirectCall { .. } | End::Far => return self.indirect(end),
            End::Fault { ip, kind } => {
                self.at.ip = ip;
                self.at.end = None;
                return Err(kind);
            }
        };
        self.at.ip = next;
        self.at.end = None;
        if self.at.branches.is_empty() {
            return Ok(Step::Again);
        }
        self.enter_block(None)
    }

    /// Continues after an instruction whose target must be in the cue.
    fn indirect(&mut self, end: End) -> Stepped {
        let Some(cue) = self.cue else {
            return self.fetch();
        };
        let target = match (cue.kind, end) {
            (CueKind::Disable(Some(_)), _) => return self.stop_behind_block(cue),
            (CueKind::Disable(None), End::Far | End::AddressSpace(_)) => {
                return self.stop_behind_block(cue);
            }
            (_, End::Conditional { .. }) => return Err(FlowErrorKind::NoBranch),
            (CueKind::Target(target), _) => target,
            _ => return Err(FlowErrorKind::NoTarget),
        };
        match end {
            End::IndirectCall { return_to } => self.push_call(return_to),
            End::Return => drop(self.stack.pop()),
            _ => {}
        }
        self.take_cue(cue)?;
        self.at.ip = target;
        self.at.end = None;
        Ok(Step::Again)
    }

    #[inline]
    fn push_call(&mut self, return_to: u64) {
        self.stack.push(Caller { return_to, exit: self.at.exit.taken() });
    }

    fn stop_behind_block(&mut self, cue: Cue) -> Stepped {
        self.at.branches = Branches::NONE;
        self.at.end = None;
        self.arrive(cue)
    }

    /// Takes the oldest branch, if there is one.
    #[inline]
    fn branch(&mut self) -> Option<bool> {
        let taken = self.at.branches.take()?;
        self.progress.reset();
        Some(taken)
    }
}
