//! Random programs, random walks through them, and the trace of each walk.
//!
//! A walk decides branches at random. So the executed instructions are known without an instruction
//! decoder.

#![allow(dead_code)] // Not every test uses all of it.

use std::collections::HashMap;

use trace_insntrace::pt::{ExecMode, Packet, PsbState, Writer};

use crate::random::Random;

/// The address of programs.
pub(crate) const BASE: u64 = 0x7f12_3456_7000;

/// An address that no program has.
const OUTSIDE: u64 = 0x4000_0000;

#[derive(Debug, Clone, Copy)]
enum Step {
    Plain,
    Conditional(u64),
    Jump(u64),
    JumpRegister,
    Call(u64),
    CallRegister,
    Return,
    SystemCall,
}

/// Code, and the effect of each instruction.
pub(crate) struct Program {
    pub(crate) code: Vec<u8>,
    steps: HashMap<u64, (u64, Step)>,
    starts: Vec<u64>,
}

/// Instructions without an effect, of several sizes.
const FILLERS: &[&[u8]] = &[
    b"\x90",
    b"\x66\x90",
    b"\x48\x89\xc3",
    b"\x48\x83\xc0\x01",
    b"\xb8\x01\x02\x03\x04",
    b"\x0f\x1f\x44\x00\x00",
    b"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08",
    b"\xf3\xa4",
];

/// A branch whose four last bytes are still to be set, to the start of a block.
struct Fixup {
    ip: u64,
    next: u64,
    block: usize,
}

impl Program {
    /// Returns a program of this number of blocks. Direct jumps and calls go forward, so that no
    /// loop is without a packet.
    pub(crate) fn new(random: &mut Random, blocks: usize) -> Self {
        let mut program = Self { code: Vec::new(), steps: HashMap::new(), starts: Vec::new() };
        let mut fixups = Vec::new();
        for block in 0..blocks {
            program.starts.push(program.here());
            for _ in 0..random.below(6) {
                program.add(random.of::<&[u8]>(FILLERS), Step::Plain);
            }
            let forward = block + 1 + random.index(blocks - block);
            program.branch(random, block, blocks, forward, &mut fixups);
        }
        program.starts.push(program.here());
        program.add(b"\xff\xe0", Step::JumpRegister);
        fixups.iter().for_each(|fixup| program.fix(fixup));
        program
    }

    fn branch(
        &mut self,
        random: &mut Random,
        block: usize,
        blocks: usize,
        forward: usize,
        fixups: &mut Vec<Fixup>,
    ) {
        let any = random.index(blocks);
        match random.below(10) {
            0..=2 => self.direct(b"\x0f\x85", Step::Conditional, any, fixups),
            3 => self.direct(b"\xe9", Step::Jump, forward, fixups),
            4 => self.direct(b"\xe8", Step::Call, forward, fixups),
            // A call of the next instruction does not use the return stack.
            5 => self.direct(b"\xe8", Step::Call, block + 1, fixups),
            6 => self.add(b"\xff\xe0", Step::JumpRegister),
            7 => self.add(b"\xff\xd0", Step::CallRegister),
            8 => self.add(b"\xc3", Step::Return),
            _ => self.add(b"\x0f\x05", Step::SystemCall),
        }
    }

    fn here(&self) -> u64 {
        BASE + self.code.len() as u64
    }

    fn add(&mut self, bytes: &[u8], step: Step) {
        let ip = self.here();
        self.code.extend_from_slice(bytes);
        self.steps.insert(ip, (self.here(), step));
    }

    fn direct(
        &mut self,
        opcode: &[u8],
        step: fn(u64) -> Step,
        block: usize,
        fixups: &mut Vec<Fixup>,
    ) {
        let ip = self.here();
        self.add(&[opcode, &[0; 4]].concat(), step(0));
        fixups.push(Fixup { ip, next: self.here(), block });
    }

    fn fix(&mut self, fixup: &Fixup) {
        let target = self.starts[fixup.block];
        let displacement = target.wrapping_sub(fixup.next) as u32;
        let end = (fixup.next - BASE) as usize;
        self.code[end - 4..end].copy_from_slice(&displacement.to_le_bytes());
        let (_, step) = self.steps.get_mut(&fixup.ip).unwrap();
        match step {
            Step::Conditional(to) | Step::Jump(to) | Step::Call(to) => *to = target,
            _ => unreachable!("it has no target"),
        }
    }
}

/// The frequencies of events in a walk: one in this number of steps, or never if 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Odds {
    pub(crate) interrupt: usize,
    pub(crate) pause: usize,
    pub(crate) psb: usize,
    pub(crate) time: usize,
    pub(crate) overflow: usize,
}

/// The executed instructions, and their trace.
pub(crate) struct Walk<'a> {
    program: &'a Program,
    random: &'a mut Random,
    writer: Writer,
    ip: u64,
    calls: Vec<u64>,
    pub(crate) executed: Vec<u64>,
    pub(crate) trace: Vec<u8>,
}

impl<'a> Walk<'a> {
    /// Walks this number of steps.
    pub(crate) fn new(
        program: &'a Program,
        random: &'a mut Random,
        writer: Writer,
        steps: usize,
        odds: Odds,
    ) -> Self {
        let (executed, trace) = (Vec::new(), Vec::new());
        let mut walk = Self { program, random, writer, ip: BASE, calls: vec![], executed, trace };
        walk.psb(None);
        walk.writer.enable(BASE, ExecMode::LONG);
        for _ in 0..steps {
            walk.surprise(odds);
            walk.step(odds);
        }
        walk.writer.async_disable(walk.ip, None);
        walk.trace = walk.writer.take();
        walk
    }

    fn psb(&mut self, ip: Option<u64>) {
        let tsc = self.executed.len() as u64;
        self.writer.psb(PsbState { tsc: Some(tsc), cbr: Some(20), mode: ExecMode::LONG, ip });
    }

    fn anywhere(&mut self) -> u64 {
        *self.random.of(&self.program.starts)
    }

    /// Adds events that may happen before any instruction.
    fn surprise(&mut self, odds: Odds) {
        if self.random.one_in(odds.interrupt) {
            let to = self.anywhere();
            self.writer.async_branch(self.ip, to);
            self.ip = to;
        }
        if self.random.one_in(odds.pause) {
            let to = self.random.one_in(2).then_some(OUTSIDE);
            self.writer.async_disable(self.ip, to);
            self.resume();
        }
        if self.random.one_in(odds.psb) {
            self.psb(Some(self.ip));
        }
        if self.random.one_in(odds.time) {
            self.writer.packet(Packet::Tsc(self.executed.len() as u64));
        }
    }

    /// Continues at a random place, with tracing turned on.
    fn resume(&mut self) {
        if self.random.one_in(2) {
            self.ip = self.anywhere();
        }
        if self.random.one_in(4) {
            self.psb(None);
        }
        self.writer.enable(self.ip, ExecMode::LONG);
    }

    fn step(&mut self, odds: Odds) {
        let (next, step) = self.program.steps[&self.ip];
        self.executed.push(self.ip);
        self.ip = next;
        let wrote = match step {
            Step::Plain => false,
            Step::Jump(to) => self.direct(to, odds),
            Step::Call(to) => {
                self.call(next, to);
                self.direct(to, odds)
            }
            Step::Conditional(to) => self.conditional(to),
            Step::JumpRegister => self.indirect(odds),
            Step::CallRegister => {
                self.call(next, 0);
                self.indirect(odds)
            }
            Step::Return => self.ret(),
            Step::SystemCall => {
                self.writer.disable(None);
                self.resume();
                false
            }
        };
        if wrote && self.random.one_in(odds.overflow) {
            self.overflow();
        }
    }

    fn call(&mut self, next: u64, to: u64) {
        if to != next {
            self.writer.call(next);
        }
        self.calls.push(next);
    }

    /// An address range may end at a branch.
    fn direct(&mut self, to: u64, odds: Odds) -> bool {
        self.ip = to;
        if self.random.one_in(odds.pause) {
            self.writer.disable(Some(to));
            self.resume();
        }
        false
    }

    fn conditional(&mut self, to: u64) -> bool {
        let taken = self.random.one_in(2);
        self.writer.conditional(taken);
        self.ip = if taken { to } else { self.ip };
        true
    }

    fn indirect(&mut self, odds: Odds) -> bool {
        self.ip = self.anywhere();
        if self.random.one_in(odds.pause) {
            self.writer.disable(Some(OUTSIDE));
            self.resume();
            return false;
        }
        self.writer.indirect(self.ip);
        true
    }

    /// Most returns go to their call, some elsewhere.
    fn ret(&mut self) -> bool {
        let to = self.calls.pop().filter(|_| !self.random.one_in(10));
        self.ip = to.unwrap_or_else(|| self.anywhere());
        self.writer.ret(self.ip);
        true
    }

    /// Packets are lost, between two known places.
    fn overflow(&mut self) {
        self.writer.flush();
        self.ip = self.anywhere();
        if self.random.one_in(2) {
            return self.writer.overflow(Some(self.ip));
        }
        self.writer.overflow(None);
        self.writer.enable(self.ip, ExecMode::LONG);
    }
}
