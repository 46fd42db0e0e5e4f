//! The block engine: threads run to the next branch that depends on data.
//!
//! Such a branch has a breakpoint in place of its first byte, and is executed by the tracer. A
//! breakpoint therefore stays while several threads run the same code. All breakpoints of an
//! address space that are removed are removed while none of its threads executes a block.

use std::io;
use std::rc::Rc;

use super::blocks::{Block, BlockEnd};
use super::branch::Branch;
use super::code_changes::one;
use super::decode::Armed;
use super::memory::OwnMemory;
use super::ptrace::{self, Registers, Tid};
use super::tracer::Tracer;
use crate::flow::DecodedInstruction;

/// The most branches that are executed in a row before the thread runs, so that it gets signals.
const MAX_CHAIN: usize = 64;

/// How often code that changes is decoded again before it is executed in single steps.
const MAX_CHANGES: usize = 3;

/// What a thread does next.
enum Plan {
    /// The tracer executes a branch.
    Take(Branch, DecodedInstruction),
    /// The thread executes a block.
    Run(Rc<Block>),
    /// The thread makes steps.
    Steps(usize),
}

impl Tracer {
    /// Continues a stopped thread: by blocks where that is safe.
    pub(super) fn resume_by_blocks(&mut self, tid: Tid) -> io::Result<()> {
        let (mut changed, was_stopping) = (0, self.is_stopping);
        for chained in 0.. {
            if self.is_stopping && !was_stopping {
                // A branch was the end of the budget.
                return self.resume(tid);
            }
            if was_stopping || !self.may_run(tid)? {
                break;
            }
            match self.plan(tid, chained < MAX_CHAIN)? {
                Plan::Take(branch, decoded) if self.take(tid, branch, decoded)? => {}
                Plan::Take(_, decoded) => {
                    self.unplant(tid, one(decoded.0.ip))?;
                    self.refuse(tid, decoded.0.ip);
                    return self.make_steps(tid, 1);
                }
                Plan::Steps(steps) => return self.make_steps(tid, steps),
                Plan::Run(block) => match self.arm(tid, &block) {
                    Armed::Ready => return self.run(tid, block),
                    Armed::Changed if changed < MAX_CHANGES => changed += 1,
                    _ => return self.make_steps(tid, block.instructions.len()),
                },
            }
        }
        self.resume_by_steps(tid)
    }

    /// Returns whether the next instruction of a thread may be that of a block.
    fn may_run(&mut self, tid: Tid) -> io::Result<bool> {
        self.attaching.retain(|tid| self.expected.contains(tid));
        let Some(thread) = self.threads.get(&tid) else { return Ok(false) };
        let (is_64_bit, space) = (thread.is_64_bit(), thread.space);
        let is_ready = thread.is_plain() && thread.run.is_between && thread.run.steps == 0;
        if !is_64_bit {
            // The code that is executed is not known.
            self.step_only(tid)?;
        }
        let permits = self.spaces.get(&space).is_some_and(|space| !space.blocks.steps_only);
        Ok(is_ready && is_64_bit && permits && self.attaching.is_empty())
    }

    /// Returns what a thread does next. If not `takes`, the tracer executes no branch.
    fn plan(&mut self, tid: Tid, takes: bool) -> io::Result<Plan> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(Plan::Steps(1)) };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return Ok(Plan::Steps(1)) };
        let plant = space.plants.at(thread.ip).filter(|_| takes).copied();
        let block = match plant {
            Some(_) => None,
            None => space.block(tid, thread.ip, &mut self.notes),
        };
        if thread.version != space.version() {
            thread.begin_part(space, &mut self.notes);
        }
        if let Some(plant) = plant {
            return Ok(Plan::Take(plant.branch, plant.decoded));
        }
        if self.remove_misplaced(tid)? {
            return self.plan(tid, takes);
        }
        let Some(block) = block else { return Ok(Plan::Steps(1)) };
        let left = self.options.budget.map_or(u64::MAX, |budget| budget.saturating_sub(self.steps));
        let count = block.instructions.len();
        Ok(match (block.end, block.last()) {
            _ if count as u64 > left => Plan::Steps(left.max(1) as usize),
            (BlockEnd::Branch(branch, _), Some(last)) if count == 1 && takes => {
                Plan::Take(branch, last)
            }
            (BlockEnd::SystemCall, _) if count == 1 => Plan::Steps(1),
            (BlockEnd::Steps, _) => Plan::Steps(count),
            _ => Plan::Run(block),
        })
    }

    /// Executes a branch in place of a thread. Returns whether that was possible.
    fn take(&mut self, tid: Tid, branch: Branch, decoded: DecodedInstruction) -> io::Result<bool> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(false) };
        let (Some(space), Some(mut registers)) =
            (self.spaces.get(&thread.space), thread.run.registers)
        else {
            return Ok(false);
        };
        let Some(next) = branch.execute(&mut registers.all, &OwnMemory(tid)) else {
            return Ok(false);
        };
        thread.executed(space, decoded, next, &mut self.executed);
        (registers.ip, registers.sp) = (next, registers.all.rsp);
        thread.moved(registers);
        thread.run.is_moved = true;
        self.count(1);
        Ok(true)
    }

    fn arm(&mut self, tid: Tid, block: &Block) -> Armed {
        let Some(thread) = self.threads.get(&tid) else { return Armed::Steps };
        let space = self.spaces.get_mut(&thread.space);
        space.map_or(Armed::Steps, |space| space.arm(tid, block))
    }

    fn run(&mut self, tid: Tid, block: Rc<Block>) -> io::Result<()> {
        self.write_registers(tid)?;
        self.hide_trap(tid)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.run.begin(block);
        }
        ptrace::run(tid)
    }

    fn make_steps(&mut self, tid: Tid, steps: usize) -> io::Result<()> {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.run.steps = steps;
        }
        self.resume_by_steps(tid)
    }

    /// Writes the registers of a thread that the tracer has moved.
    pub(super) fn write_registers(&mut self, tid: Tid) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else { return Ok(()) };
        match thread.run.registers {
            Some(registers) if std::mem::take(&mut thread.run.is_moved) => {
                ptrace::move_to(tid, registers.ip, registers.sp)
            }
            _ => Ok(()),
        }
    }

    /// A thread has executed a breakpoint. Returns whether it was one of the engine.
    pub(super) fn hit(&mut self, tid: Tid, mut registers: Registers) -> bool {
        let at = registers.ip.wrapping_sub(1);
        let Some(thread) = self.threads.get_mut(&tid) else { return false };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return false };
        if !space.plants.had(&space.memory, at) {
            return false;
        }
        (registers.ip, registers.all.rip) = (at, at);
        // Also after a panic, the thread continues at the breakpoint.
        (thread.run.registers, thread.run.is_moved) = (Some(registers), true);
        let count = thread.arrive(space, at, &mut self.notes, &mut self.executed);
        thread.moved(registers);
        thread.run.is_between = true;
        self.count(count);
        true
    }

    /// A thread begins a system call, behind its block.
    pub(super) fn calls(&mut self, tid: Tid, registers: Registers) {
        let at = registers.ip.wrapping_sub(2);
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return };
        let count = thread.arrive(space, at, &mut self.notes, &mut self.executed);
        thread.stopped(registers);
        thread.run.is_calling = true;
        self.count(count);
    }

    /// A thread is stopped, perhaps in a block.
    pub(super) fn pauses(&mut self, tid: Tid, registers: Registers) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return };
        // Behind a breakpoint, the report of the breakpoint is next.
        let reached = thread.reach(space, registers.ip, &mut self.executed);
        thread.stopped(registers);
        if let Some(count) = reached {
            thread.arrive(space, registers.ip, &mut self.notes, &mut self.executed);
            thread.run.is_between = true;
            self.count(count);
        }
    }

    /// Counts steps, and ends tracing at the end of the budget.
    pub(super) fn count(&mut self, steps: u64) {
        self.steps += steps;
        if self.options.budget.is_some_and(|budget| self.steps >= budget) {
            self.begin_stop();
        }
    }
}
