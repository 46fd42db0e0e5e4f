//! Breakpoints and blocks when code changes, or gets a user that is not traced.

use std::collections::HashSet;
use std::io;
use std::ops::Range;

use super::branch::Memory;
use super::calls::{Effect, EVERYTHING, SYSTEM_CALL};
use super::memory::OwnMemory;
use super::ptrace::{self, Stop, Tid};
use super::status::{has_pending_trap, has_shadow_stack, has_userfaultfd, is_gone};
use super::tracer::Tracer;
use crate::recording::SpaceId;

impl Tracer {
    /// A thread is stopped. Unless it has created another one, its system call has returned.
    pub(super) fn end_call(&mut self, tid: Tid, stop: Stop) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.run.is_running = false;
        let Some(space) = self.spaces.get_mut(&thread.space) else { return };
        match stop {
            Stop::NewTask(new) if space.blocks.lends(Some(tid)) => {
                self.borrowers.insert(new);
            }
            Stop::NewTask(_) => {}
            _ => {
                thread.run.in_call = false;
                space.blocks.end_change(tid);
            }
        }
    }

    /// Prepares the code for the system call that a thread may make in its next step.
    pub(super) fn prepare_call(&mut self, tid: Tid) -> io::Result<()> {
        if self.is_stopping {
            return Ok(());
        }
        self.remove_misplaced(tid)?;
        let Some(thread) = self.threads.get(&tid) else { return Ok(()) };
        let space = self.spaces.get_mut(&thread.space);
        let (Some(space), Some(registers)) = (space, thread.run.registers) else { return Ok(()) };
        // At another address, the call was made before, and its report is next.
        let is_next = thread.restarts() || thread.run.is_calling || registers.ip == thread.ip;
        if !thread.may_call() || !is_next || thread.run.in_call {
            return Ok(());
        }
        let all = &registers.all;
        let is_entered = thread.restarts() || thread.run.is_calling;
        let number = if is_entered { all.orig_rax } else { all.rax };
        let back = if thread.restarts() { SYSTEM_CALL.len() as u64 } else { 0 };
        let at = thread.ip.wrapping_sub(back);
        if space.code_of(at).is_none() {
            // The thread was in the call when it was attached to.
            let _decoded = space.fetch(tid, at, &mut self.notes);
        }
        let effect = match space.code_of(at) {
            Some(SYSTEM_CALL) => {
                let arguments = [all.rdi, all.rsi, all.rdx, all.r10];
                Effect::of(number, arguments, |address| OwnMemory(tid).read(address))
            }
            // `int` and `sysenter` make calls of 32-bit programs.
            Some([0xcd, ..] | [0x0f, 0x34]) | None => Effect::Shares,
            Some(_) => Effect::Nothing,
        };
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.run.in_call = true;
        }
        self.apply_effect(tid, effect)
    }

    fn apply_effect(&mut self, tid: Tid, effect: Effect) -> io::Result<()> {
        let Some(addresses) = effect.addresses() else { return Ok(()) };
        if effect == Effect::Shares {
            self.step_only(tid)?;
        }
        let Some(id) = self.threads.get(&tid).map(|thread| thread.space) else { return Ok(()) };
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(()) };
        // Another thread may execute new code, and read the mappings, before the call is made.
        let has_blocks = space.has_mappings_in(&addresses) || space.blocks.any_in(&addresses);
        if has_blocks || space.plants.any_in(addresses.clone()) || addresses == EVERYTHING {
            space.blocks.begin_change(tid, addresses.clone(), effect.lends());
            self.unplant(tid, addresses)?;
        }
        Ok(())
    }

    /// Executes all code of the process of `tid` in single steps from now on.
    pub(super) fn step_only(&mut self, tid: Tid) -> io::Result<()> {
        let Some(thread) = self.threads.get(&tid) else { return Ok(()) };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return Ok(()) };
        space.blocks.steps_only = true;
        self.unplant(tid, EVERYTHING)
    }

    /// Returns whether code of a process that is traced from now on must be executed in single
    /// steps.
    pub(super) fn is_excluded(&self, tid: Tid) -> bool {
        let is_lent = self.spaces.values().any(|space| space.blocks.lends(None));
        is_lent || self.borrowers.contains(&tid) || has_shadow_stack(tid) || has_userfaultfd(tid)
    }

    pub(super) fn refuse(&mut self, tid: Tid, address: u64) {
        let Some(thread) = self.threads.get(&tid) else { return };
        if let Some(space) = self.spaces.get_mut(&thread.space) {
            space.plants.refuse(address);
        }
    }

    /// Removes breakpoints inside of instructions. Returns whether there were any.
    pub(super) fn remove_misplaced(&mut self, tid: Tid) -> io::Result<bool> {
        let Some(thread) = self.threads.get(&tid) else { return Ok(false) };
        let Some(space) = self.spaces.get_mut(&thread.space) else { return Ok(false) };
        let addresses = std::mem::take(&mut space.misplaced);
        for address in &addresses {
            self.unplant(tid, one(*address))?;
            self.refuse(tid, *address);
        }
        Ok(!addresses.is_empty())
    }

    pub(super) fn unplant(&mut self, tid: Tid, addresses: Range<u64>) -> io::Result<()> {
        match self.threads.get(&tid) {
            Some(thread) => self.remove_breakpoints(thread.space, addresses),
            None => Ok(()),
        }
    }

    /// Removes the breakpoints at these addresses, while no thread executes a block.
    pub(super) fn remove_breakpoints(
        &mut self,
        id: SpaceId,
        addresses: Range<u64>,
    ) -> io::Result<()> {
        let space = self.spaces.get(&id);
        if !space.is_some_and(|space| space.plants.any_in(addresses.clone())) {
            return Ok(());
        }
        let halted = self.halt(id);
        if let Some(space) = self.spaces.get_mut(&id) {
            space.plants.remove(&space.memory, addresses);
        }
        halted
    }

    /// Handles a stop later.
    pub(super) fn queue(&mut self, tid: Tid, stop: Stop) {
        if matches!(stop, Stop::Exec(_) | Stop::Exited(_) | Stop::Killed(_)) {
            // The thread that was stopped is no longer there.
            self.stops.retain(|(stopped, _)| *stopped != tid);
        }
        self.stops.push_back((tid, stop));
    }

    /// Stops all threads of a process that execute a block. Their stops are handled later.
    fn halt(&mut self, id: SpaceId) -> io::Result<()> {
        let is_stopped = |tid: &Tid| self.stops.iter().any(|(stopped, _)| stopped == tid);
        let running = self.threads.values().filter(|it| it.space == id && it.run.is_running);
        let mut running: HashSet<_> = running.map(|thread| thread.tid).collect();
        running.retain(|tid| !is_stopped(tid));
        for tid in &running {
            match ptrace::interrupt(*tid) {
                Err(error) if !is_gone(&error) => return Err(error),
                _ => {}
            }
        }
        while !running.is_empty() {
            let Some((tid, stop)) = ptrace::wait_any()? else { break };
            if running.contains(&tid) && stop == Stop::Trap && has_pending_trap(tid) {
                // It has executed a breakpoint, which is reported next.
                ptrace::run(tid)?;
                continue;
            }
            running.remove(&tid);
            self.queue(tid, stop);
        }
        Ok(())
    }
}

/// Returns the range of one address.
pub(super) fn one(address: u64) -> Range<u64> {
    address..address.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::step::Options;

    #[test]
    fn known_code_without_blocks_is_uncertain_during_a_change() {
        let options = Options::of_blocks();
        let mut tracer = Tracer::start(&mut Command::new("/bin/true"), options).unwrap();
        while tracer.steps < 100 {
            assert!(tracer.handle_stop().unwrap());
        }
        let (tid, thread) = tracer.threads.iter().next().unwrap();
        let (tid, id) = (*tid, thread.space);
        let space = tracer.spaces.get(&id).unwrap();
        let mapping = &space.mapping_of(thread.ip).unwrap().mapping;
        let mut pages = (mapping.address..mapping.address + mapping.size).step_by(4096);
        let page = pages.find(|page| !space.blocks.any_in(&one(*page))).unwrap();
        tracer.apply_effect(tid, Effect::Changes(page..page + 4096)).unwrap();
        let blocks = |tracer: &Tracer| {
            let blocks = &tracer.spaces.get(&id).unwrap().blocks;
            (blocks.is_changing(page), blocks.is_stale)
        };
        assert_eq!(blocks(&tracer), (true, false), "the mappings are those before the call");
        tracer.end_call(tid, Stop::Step);
        assert_eq!(blocks(&tracer), (false, true));
    }
}
