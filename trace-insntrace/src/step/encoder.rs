//! Packets of the instructions that were executed.

use std::mem;

use super::options::Options;
use super::passed::Passed;
use crate::flow::{DecodedInstruction, End, Instruction};
use crate::pt::{ExecMode, Packet, PsbState, Writer};

/// Writes the packets of one thread, instruction by instruction.
#[derive(Debug)]
pub(super) struct Encoder {
    writer: Writer,
    clock: fn() -> u64,
    has_time: bool,
    psb_bytes: u64,
    is_on: bool,
    /// Whether an instruction is missing since tracing was on.
    has_gap: bool,
    /// Whether tracing was on in the current part of the execution.
    has_part: bool,
    passed: Passed,
}

impl Encoder {
    /// Begins a stream.
    pub(super) fn new(options: &Options) -> Self {
        let Options { clock, has_time, psb_bytes, .. } = *options;
        let writer = options.writer.clone();
        let mut encoder = Self {
            writer,
            clock,
            has_time,
            psb_bytes,
            is_on: false,
            has_gap: false,
            has_part: false,
            passed: Passed::default(),
        };
        encoder.psb(None);
        encoder
    }

    /// Returns the packets since the last call.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.writer.take()
    }

    /// Turns tracing on at `ip`, if it was off.
    pub(super) fn turn_on(&mut self, ip: u64) {
        if !self.is_on {
            // Instructions that all leave the traced code do not get to the check behind them.
            if self.is_psb_due() {
                self.psb(None);
            } else {
                self.time();
            }
            self.writer.enable(ip, ExecMode::LONG);
            self.passed.restart(ip);
            (self.is_on, self.has_gap, self.has_part) = (true, false, true);
        }
    }

    /// Turns tracing off before the instruction at `ip`, if it was on.
    pub(super) fn turn_off(&mut self, ip: u64) {
        if self.is_on {
            let is_exact = self.distinguish(ip);
            self.time();
            self.writer.async_disable(ip, None);
            self.is_on = false;
            if !is_exact {
                self.overflow();
            }
        }
    }

    /// Turns tracing off before the instruction at `ip`, if it was on, and ends a part of the
    /// execution: what follows was not called by it, and does not return to it.
    pub(super) fn end_part(&mut self, ip: u64) {
        if mem::take(&mut self.has_part) {
            match self.is_on {
                true => self.turn_off(ip),
                false => self.time(),
            }
            self.writer.packet(Packet::TraceStop);
        }
    }

    /// Reports that the instruction at `ip` was executed and is missing, once until tracing is on
    /// again.
    pub(super) fn lose(&mut self, ip: u64) {
        self.turn_off(ip);
        self.overflow();
    }

    fn overflow(&mut self) {
        if !mem::replace(&mut self.has_gap, true) {
            self.time();
            self.writer.overflow(None);
        }
    }

    /// Turns tracing off before the instruction at `ip`, if it was on, and begins a part of the
    /// stream that can be decoded without the bytes before it. Returns its offset.
    pub(super) fn cut(&mut self, ip: u64) -> u64 {
        self.turn_off(ip);
        let offset = self.writer.written();
        self.psb(None);
        offset
    }

    /// Writes an executed instruction, followed by `next`, while tracing is on. Calls and returns
    /// get a time stamp.
    pub(super) fn executed(&mut self, instruction: DecodedInstruction, next: u64) {
        let (Instruction { ip, .. }, end) = instruction;
        if matches!(end, End::Jump(_) | End::Call { .. }) && next <= ip {
            self.jumps_back(ip, next);
        }
        self.branch(end, next);
        if self.is_psb_due() {
            self.divide_by_psb(next);
        }
    }

    fn branch(&mut self, end: End, next: u64) {
        match end {
            End::Conditional { target, .. } => self.writer.conditional(next == target),
            End::Call { target, return_to } => {
                self.time();
                if target != return_to {
                    self.writer.call(return_to);
                }
            }
            End::IndirectJump => self.writer.indirect(next),
            End::IndirectCall { return_to } => {
                self.time();
                self.writer.call(return_to);
                self.writer.indirect(next);
            }
            End::Return => {
                self.time();
                self.writer.ret(next);
            }
            _ => {}
        }
        if has_packet(end) {
            self.passed.restart(next);
        }
    }

    /// Writes PSB+ before the instruction at `next`.
    fn divide_by_psb(&mut self, next: u64) {
        if self.is_on && !self.distinguish(next) {
            self.lose(next);
        }
        self.psb(self.is_on.then_some(next));
        self.passed.restart(next);
    }

    /// A direct branch jumps back from `ip`, or to itself.
    fn jumps_back(&mut self, ip: u64, next: u64) {
        // Otherwise it jumps to itself again: no packet can be between.
        if self.distinguish(ip) {
            if self.passed.is_full() {
                self.divide(ip);
            }
            self.passed.jumped_back(ip, next);
        }
    }

    /// Makes packets that end before the instruction at `ip`, which is next, mean this time and
    /// none before. Returns whether that is possible: it is not behind a jump to itself.
    fn distinguish(&mut self, ip: u64) -> bool {
        let Some((jump, target)) = self.passed.last_jump_before(ip) else { return true };
        if jump == target {
            return false;
        }
        // The jump was executed once, or there would be a packet already.
        self.divide(jump);
        self.passed.jumped_back(jump, target);
        if ip == jump {
            self.divide(target);
        }
        true
    }

    /// Writes that the instruction at `ip` was reached. No packet was written since.
    fn divide(&mut self, ip: u64) {
        self.time();
        self.writer.async_disable(ip, None);
        self.writer.enable(ip, ExecMode::LONG);
        self.passed.restart(ip);
    }

    /// Writes that execution left the traced code at `ticks`, behind the last instruction, for `to`
    /// if that may be disclosed.
    pub(super) fn left(&mut self, ticks: u64, to: Option<u64>) {
        self.time_stamp(ticks);
        self.writer.disable(to);
        self.is_on = false;
    }

    /// Returns the time.
    pub(super) fn now(&self) -> u64 {
        (self.clock)()
    }

    fn time(&mut self) {
        self.time_stamp(self.now());
    }

    fn time_stamp(&mut self, ticks: u64) {
        if self.has_time {
            self.writer.packet(Packet::Tsc(ticks));
        }
    }

    fn is_psb_due(&self) -> bool {
        self.writer.bytes_since_psb() >= self.psb_bytes
    }

    fn psb(&mut self, ip: Option<u64>) {
        let tsc = self.has_time.then(|| self.now());
        self.writer.psb(PsbState { tsc, cbr: None, mode: ExecMode::LONG, ip });
    }
}

/// Returns whether a packet has the branch or the target.
fn has_packet(end: End) -> bool {
    use End::{Conditional, IndirectCall, IndirectJump, Return};
    matches!(end, Conditional { .. } | IndirectJump | IndirectCall { .. } | Return)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pt::PacketDecoder;
    use crate::step::Engine;

    #[test]
    fn instructions_that_all_leave_the_traced_code_have_psb_packets() {
        let options = Options {
            engine: Engine::Step,
            writer: Writer::new(),
            clock: || 1,
            has_time: true,
            psb_bytes: 100,
            ranges: Vec::new(),
            budget: None,
        };
        let mut encoder = Encoder::new(&options);
        for _ in 0..100 {
            encoder.turn_on(0x1000);
            encoder.left(1, Some(0x2000));
        }
        let mut packets = PacketDecoder::new();
        packets.push(&encoder.take());
        let mut offsets = Vec::new();
        let psb = |packet: &Packet| matches!(packet, Packet::Psb);
        packets.visit(|at| offsets.extend(psb(&at.packet).then_some(at.offset))).unwrap();
        let most = offsets.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(most.is_some_and(|most| most < 150), "{offsets:?}");
        assert!(packets.offset() - offsets.last().unwrap() < 150, "{offsets:?}");
    }
}
