//! Packets of the instructions that were executed.

use std::mem;

use super::options::Options;
use crate::flow::{DecodedInstruction, End};
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
}

impl Encoder {
    /// Begins a stream.
    pub(super) fn new(options: &Options) -> Self {
        let Options { clock, has_time, psb_bytes, .. } = *options;
        let writer = options.writer.clone();
        let mut encoder = Self { writer, clock, has_time, psb_bytes, is_on: false, has_gap: false };
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
            (self.is_on, self.has_gap) = (true, false);
        }
    }

    /// Turns tracing off before the instruction at `ip`, if it was on.
    pub(super) fn turn_off(&mut self, ip: u64) {
        if self.is_on {
            self.time();
            self.writer.async_disable(ip, None);
            self.is_on = false;
        }
    }

    /// Reports that the instruction at `ip` was executed and is missing, once until tracing is on
    /// again.
    pub(super) fn lose(&mut self, ip: u64) {
        self.turn_off(ip);
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
        match instruction.1 {
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
        if self.is_psb_due() {
            self.psb(self.is_on.then_some(next));
        }
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
