//! A traced thread: the packets of its stops.

use std::collections::VecDeque;
use std::mem;

use super::code::Space;
use super::encoder::Encoder;
use super::ptrace::{Registers, Tid};
use super::run::Run;
use super::traced_calls::Watch;
use super::trap_mask::TrapMask;
use crate::flow::{DecodedInstruction, End, InstructionKind};
use crate::recording::{Note, SpaceId, ThreadEnd, TraceId};

/// An instruction that was executed and that the trace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executed {
    /// The thread's trace.
    pub trace: TraceId,
    /// The instruction's address.
    pub ip: u64,
}

/// The bytes of a system call instruction.
const SYSTEM_CALL_BYTES: u64 = 2;

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) trace: TraceId,
    pub(super) tid: Tid,
    pub(super) pid: i32,
    pub(super) space: SpaceId,
    pub(super) encoder: Encoder,
    /// The signal to be delivered next, or 0.
    pub(super) signal: i32,
    /// The version of the code from the last position on.
    pub(super) version: u64,
    pub(super) ip: u64,
    /// The instruction at `ip`, if it can be traced.
    pub(super) fetched: Option<DecodedInstruction>,
    /// When the thread was continued, if a system call is next.
    continued: u64,
    is_64_bit: bool,
    /// Whether the kernel executes the system call before `ip` again, unless a handler runs.
    restarts: bool,
    /// Whether the next step only leaves a system call that has no return address.
    leaves_exec: bool,
    /// The registers after a step that may have set the trap flag as the program's own.
    loaded_flags: Option<Registers>,
    /// SIGTRAP in its mask of blocked signals.
    pub(super) mask: TrapMask,
    /// How the thread executes blocks.
    pub(super) run: Run,
    /// The calls in which the thread is traced, if not always.
    pub(super) watch: Watch,
}

impl Thread {
    /// Creates the state of a stopped thread. If `leaves_exec`, it has just executed a program.
    pub(super) fn new(
        (trace, tid, pid): (TraceId, Tid, i32),
        space: &Space,
        encoder: Encoder,
        leaves_exec: bool,
    ) -> Self {
        Self {
            trace,
            tid,
            pid,
            space: space.id(),
            encoder,
            signal: 0,
            version: space.version(),
            ip: 0,
            fetched: None,
            continued: 0,
            is_64_bit: true,
            restarts: false,
            leaves_exec,
            loaded_flags: None,
            mask: TrapMask::new(),
            run: Run::default(),
            watch: Watch::default(),
        }
    }

    /// Reads the next instruction. Code that has changed begins a new part of the stream.
    pub(super) fn prepare(&mut self, space: &mut Space, notes: &mut Vec<Note>) {
        let fetch = self.is_64_bit.then(|| space.fetch(self.tid, self.ip, notes));
        self.fetched = fetch.flatten();
        if self.version != space.version() {
            self.begin_part(space, notes);
        }
        if self.restarts || self.fetched.is_some_and(is_far) {
            self.continued = self.encoder.now();
        }
    }

    /// Begins a part of the stream that is decoded with the code of `space`.
    pub(super) fn begin_part(&mut self, space: &Space, notes: &mut Vec<Note>) {
        let offset = self.encoder.cut(self.ip);
        (self.space, self.version) = (space.id(), space.version());
        notes.push(Note::Position { trace: self.trace, offset, space: space.id() });
    }

    /// The thread has called the function in which it is traced.
    pub(super) fn begin_call(&mut self, registers: Registers) {
        (self.leaves_exec, self.watch.is_skipping) = (false, false);
        self.moved(registers);
    }

    /// The thread has left that function. Returns whether it can run freely.
    pub(super) fn end_call(&mut self) -> bool {
        if self.loaded_flags.is_some() {
            return false;
        }
        self.encoder.end_part(self.ip);
        self.fetched = None;
        self.watch = Watch::default();
        true
    }

    /// Returns whether the next instruction is executed by nothing but the thread's registers.
    pub(super) fn is_plain(&self) -> bool {
        let is_pending = self.restarts || self.leaves_exec || self.loaded_flags.is_some();
        self.is_64_bit && self.signal == 0 && !is_pending
    }

    /// Returns whether the instruction of the last step enters the kernel.
    pub(super) fn has_fetched_far(&self) -> bool {
        self.fetched.is_some_and(is_far)
    }

    /// Returns whether the next step may enter the kernel.
    pub(super) fn may_call(&self) -> bool {
        self.restarts || self.fetched.is_none_or(is_far)
    }

    pub(super) fn is_64_bit(&self) -> bool {
        self.is_64_bit
    }

    /// Returns whether the kernel executes the last system call again.
    pub(super) fn restarts(&self) -> bool {
        self.restarts
    }

    /// Takes over the registers of a stop after which the next instruction may be another one.
    pub(super) fn moved(&mut self, registers: Registers) {
        self.ip = registers.ip;
        self.stopped(registers);
    }

    /// Takes over the registers of a stop that is not the end of an instruction.
    pub(super) fn stopped(&mut self, registers: Registers) {
        self.is_64_bit = registers.is_64_bit;
        self.run.registers = Some(registers);
        // At another address, the system call has not ended yet.
        self.restarts = registers.restarts && registers.ip == self.ip;
    }

    /// The instruction at `ip` was executed, or an iteration of it. Returns whether it was: a step
    /// that only leaves `exec` executes none.
    pub(super) fn stepped(
        &mut self,
        space: &mut Space,
        registers: Registers,
        notes: &mut Vec<Note>,
        out: &mut VecDeque<Executed>,
    ) -> bool {
        let was_executed = !mem::take(&mut self.leaves_exec);
        if was_executed {
            if self.restarts {
                self.rewind(space, notes);
            }
            self.encode(space, registers.ip, notes, out);
            self.check_flags(space, registers);
        }
        self.moved(registers);
        was_executed
    }

    /// The instruction at `ip`, which is not traced, was executed. Returns whether it was.
    pub(super) fn stepped_untraced(&mut self, space: &Space, registers: Registers) -> bool {
        let was_executed = !mem::take(&mut self.leaves_exec);
        if was_executed {
            self.check_flags(space, registers);
        }
        self.moved(registers);
        was_executed
    }

    /// Hides the trap flag of the last step from the program.
    fn check_flags(&mut self, space: &Space, registers: Registers) {
        if space.is_pushf(self.ip) {
            space.clear_pushed_trap_flag(registers.sp);
        }
        let has_loaded = space.loads_flags(self.ip) || registers.has_trap_flag();
        self.loaded_flags = has_loaded.then_some(registers);
    }

    /// Returns the registers if the kernel has to stop the thread again before the next step.
    pub(super) fn take_loaded_flags(&mut self) -> Option<Registers> {
        self.loaded_flags.take()
    }

    /// Moves back to the system call that is executed again.
    fn rewind(&mut self, space: &mut Space, notes: &mut Vec<Note>) {
        let call = self.ip.wrapping_sub(SYSTEM_CALL_BYTES);
        let fetched = space.fetch(self.tid, call, notes);
        if fetched.is_some_and(is_far) {
            self.encoder.turn_off(self.ip);
            (self.ip, self.fetched) = (call, fetched);
        }
    }

    pub(super) fn encode(
        &mut self,
        space: &mut Space,
        next: u64,
        notes: &mut Vec<Note>,
        out: &mut VecDeque<Executed>,
    ) {
        match self.fetched {
            Some(decoded) if next == self.ip && decoded.0.kind == InstructionKind::Other => {}
            Some(decoded) if decoded.1.allows(next) => self.executed(space, decoded, next, out),
            Some(first) => match self.second(space, first, notes) {
                Some(second) if second.1.allows(next) => {
                    self.executed(space, first, second.0.ip, out);
                    self.ip = second.0.ip;
                    self.executed(space, second, next, out);
                }
                // The kernel has moved the thread.
                _ => self.lose(space),
            },
            // Code that cannot be decoded.
            None => self.lose(space),
        }
    }

    /// Returns the instruction that the processor executes in one step with `first`.
    fn second(
        &self,
        space: &mut Space,
        first: DecodedInstruction,
        notes: &mut Vec<Note>,
    ) -> Option<DecodedInstruction> {
        match first.1 {
            End::Next(middle) if space.loads_ss(self.ip) => space.fetch(self.tid, middle, notes),
            _ => None,
        }
    }

    /// Reports that the instruction at `ip` was executed, if it would be traced.
    fn lose(&mut self, space: &Space) {
        if space.traces(self.ip) {
            self.encoder.lose(self.ip);
        }
    }

    pub(super) fn executed(
        &mut self,
        space: &Space,
        decoded: DecodedInstruction,
        next: u64,
        out: &mut VecDeque<Executed>,
    ) {
        if !space.traces(self.ip) {
            return;
        }
        self.encoder.turn_on(self.ip);
        let is_traced = space.traces(next);
        if is_far(decoded) {
            self.encoder.left(self.continued, None);
            if is_traced {
                self.encoder.turn_on(next);
            }
        } else if is_traced {
            self.encoder.executed(decoded, next);
        } else {
            self.encoder.left(self.encoder.now(), Some(next));
        }
        out.push_back(Executed { trace: self.trace, ip: self.ip });
    }

    /// A signal arrived, before the instruction at `ip` or during its execution.
    pub(super) fn interrupted(
        &mut self,
        space: &mut Space,
        registers: Registers,
        notes: &mut Vec<Note>,
        out: &mut VecDeque<Executed>,
    ) {
        if registers.ip != self.ip {
            self.encode(space, registers.ip, notes, out);
        }
        self.moved(registers);
        self.encoder.turn_off(self.ip);
    }

    /// A signal handler begins.
    pub(super) fn handles(&mut self, space: &Space, registers: Registers) {
        self.moved(registers);
        if space.traces(self.ip) {
            self.encoder.turn_on(self.ip);
        }
    }

    /// The thread has executed a program in `space`. Returns whether a step had begun the system
    /// call.
    pub(super) fn exec(
        &mut self,
        old: Option<&Space>,
        space: &Space,
        registers: Registers,
        notes: &mut Vec<Note>,
        out: &mut VecDeque<Executed>,
    ) -> bool {
        let was_executed = self.leave(old, out);
        (self.run, self.watch) = (Run::default(), Watch::default());
        self.moved(registers);
        self.begin_part(space, notes);
        self.leaves_exec = true;
        was_executed
    }

    /// Execution ended, after a system call or because another thread ended the process. Returns
    /// whether a system call was executed that does not return.
    pub(super) fn ended(
        &mut self,
        space: Option<&Space>,
        end: ThreadEnd,
        out: &mut VecDeque<Executed>,
    ) -> bool {
        let was_executed = matches!(end, ThreadEnd::Exited(_)) && self.leave(space, out);
        match end {
            // The buffer of a controller may continue with another time of tracing.
            ThreadEnd::Detached => self.encoder.end_part(self.ip),
            ThreadEnd::Exited(_) | ThreadEnd::Killed(_) => self.encoder.turn_off(self.ip),
        }
        was_executed
    }

    /// Writes the system call at `ip`, which does not return. Returns whether there was one.
    fn leave(&mut self, space: Option<&Space>, out: &mut VecDeque<Executed>) -> bool {
        if !self.fetched.is_some_and(is_far) {
            return false;
        }
        if !self.watch.is_skipping && space.is_some_and(|space| space.traces(self.ip)) {
            self.encoder.turn_on(self.ip);
            self.encoder.left(self.continued, None);
            out.push_back(Executed { trace: self.trace, ip: self.ip });
        }
        true
    }
}

/// Returns whether an instruction enters the kernel.
fn is_far(instruction: DecodedInstruction) -> bool {
    instruction.1 == End::Far
}
