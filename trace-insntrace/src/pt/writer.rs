//! The execution of a program as a stream of packets.

use core::mem;

use super::encode;
use super::packet::{ExecMode, Ip, Packet, Tnt};
use super::return_stack::ReturnStack;

/// The state that [`Writer::psb`] writes after PSB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PsbState {
    /// The time stamp counter, or `None` if the stream has no time stamps.
    pub tsc: Option<u64>,
    /// The ratio of the core's clock to the bus clock.
    pub cbr: Option<u8>,
    /// The execution mode.
    pub mode: ExecMode,
    /// The next instruction, or `None` while tracing is off.
    pub ip: Option<u64>,
}

/// Writes the packets of an execution, as the hardware does.
///
/// Direct jumps, and instructions that do not branch, require no call. Branches are collected in
/// TNT packets and written before the next packet of another kind.
///
/// # Examples
///
/// ```
/// use trace_insntrace::pt::{ExecMode, PsbState, Writer};
///
/// let mut writer = Writer::new();
/// writer.psb(PsbState { tsc: Some(1_000), cbr: None, mode: ExecMode::LONG, ip: None });
/// writer.enable(0x40_1000, ExecMode::LONG);
/// writer.conditional(true);
/// writer.indirect(0x40_2000);
/// writer.disable(None);
/// assert_eq!(writer.take().len(), 42);
/// ```
#[derive(Debug, Clone)]
pub struct Writer {
    out: Vec<u8>,
    /// The number of bytes that [`take`](Self::take) has returned.
    taken: u64,
    /// Where the last PSB begins.
    psb_offset: u64,
    /// `None` if the next IP must not refer to it.
    last_ip: Option<u64>,
    branches: Option<Tnt>,
    /// The return addresses.
    stack: ReturnStack<u64>,
    compress_returns: bool,
    long_tnt: bool,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// Creates a writer that compresses returns and writes short TNT packets.
    #[must_use]
    pub fn new() -> Self {
        Self {
            out: Vec::new(),
            taken: 0,
            psb_offset: 0,
            last_ip: None,
            branches: None,
            stack: ReturnStack::new(),
            compress_returns: true,
            long_tnt: false,
        }
    }

    /// Sets whether returns to the address behind their call are written as a taken branch.
    #[must_use]
    pub fn compress_returns(mut self, compress: bool) -> Self {
        self.compress_returns = compress;
        self
    }

    /// Sets whether up to 47 branches are collected in long TNT packets.
    #[must_use]
    pub fn long_tnt(mut self, long: bool) -> Self {
        self.long_tnt = long;
        self
    }

    /// Returns the packets written since the last call. Pending branches stay pending.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.taken += self.out.len() as u64;
        mem::take(&mut self.out)
    }

    /// Returns the number of bytes written so far, without pending branches.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.taken + self.out.len() as u64
    }

    /// Returns the number of bytes since the last PSB.
    #[must_use]
    pub fn bytes_since_psb(&self) -> u64 {
        self.written() - self.psb_offset
    }

    /// Writes PSB+: the boundary, and the state from which decoding can start.
    pub fn psb(&mut self, state: PsbState) {
        self.flush();
        self.psb_offset = self.written();
        self.last_ip = None;
        self.stack.clear();
        self.append(Packet::Psb);
        if let Some(ticks) = state.tsc {
            self.append(Packet::Tsc(ticks));
        }
        if let Some(ratio) = state.cbr {
            self.append(Packet::Cbr(ratio));
        }
        self.append(Packet::ModeExec(state.mode));
        if let Some(ip) = state.ip {
            self.append_ip(Packet::Fup, ip);
        }
        self.append(Packet::PsbEnd);
    }

    /// Starts tracing at `ip`.
    pub fn enable(&mut self, ip: u64, mode: ExecMode) {
        self.packet(Packet::ModeExec(mode));
        self.append_ip(Packet::TipPge, ip);
        self.stack.clear();
    }

    /// Stops tracing after a branch, at its target `to`, if the target may be disclosed.
    pub fn disable(&mut self, to: Option<u64>) {
        self.flush();
        self.append_pgd(to);
    }

    /// Writes a conditional branch.
    pub fn conditional(&mut self, taken: bool) {
        let (bits, count) = self.branches.map_or((0, 0), |tnt| (tnt.bits(), tnt.len()));
        let bits = bits << 1 | u64::from(taken);
        self.branches = Tnt::new(bits, count + 1);
        let limit = Tnt::max_len(self.long_tnt);
        if count + 1 == limit {
            self.flush();
        }
    }

    /// Writes a near call with the return address `return_to`. For an indirect call,
    /// [`indirect`](Self::indirect) then writes the target.
    ///
    /// Do not write a direct call of the next instruction: it does not use the return stack.
    pub fn call(&mut self, return_to: u64) {
        self.stack.push(return_to);
    }

    /// Writes the target of an indirect branch.
    pub fn indirect(&mut self, to: u64) {
        self.flush();
        self.append_ip(Packet::Tip, to);
    }

    /// Writes a near return to `to`.
    pub fn ret(&mut self, to: u64) {
        if self.compress_returns && self.stack.pop() == Some(to) {
            return self.conditional(true);
        }
        // Decoders disagree on whether an uncompressed return pops its entry.
        self.stack.clear();
        self.indirect(to);
    }

    /// Writes an interrupt or exception before the instruction at `from`, handled at `to`.
    pub fn async_branch(&mut self, from: u64, to: u64) {
        self.flush();
        self.append_ip(Packet::Fup, from);
        self.append_ip(Packet::Tip, to);
    }

    /// Stops tracing before the instruction at `from`.
    pub fn async_disable(&mut self, from: u64, to: Option<u64>) {
        self.flush();
        self.append_ip(Packet::Fup, from);
        self.append_pgd(to);
    }

    /// Writes an overflow: packets were lost, and tracing continues at `ip`, or is off.
    ///
    /// Pending branches are lost too.
    pub fn overflow(&mut self, ip: Option<u64>) {
        self.branches = None;
        self.last_ip = None;
        self.stack.clear();
        self.append(Packet::Ovf);
        if let Some(ip) = ip {
            self.append_ip(Packet::Fup, ip);
        }
    }

    /// Writes a packet that is no branch and has no IP.
    pub fn packet(&mut self, packet: Packet) {
        self.flush();
        self.append(packet);
    }

    /// Writes pending branches.
    pub fn flush(&mut self) {
        if let Some(tnt) = self.branches.take() {
            self.append(Packet::Tnt(tnt));
        }
    }

    fn append_pgd(&mut self, to: Option<u64>) {
        match to {
            Some(to) => self.append_ip(Packet::TipPgd, to),
            None => self.append(Packet::TipPgd(Ip::SUPPRESSED)),
        }
    }

    fn append_ip(&mut self, packet: fn(Ip) -> Packet, ip: u64) {
        // Against the complement, no bytes of the IP can be omitted.
        let last = self.last_ip.unwrap_or(!ip);
        self.append(packet(Ip::compress(ip, last)));
        self.last_ip = Some(ip);
    }

    fn append(&mut self, packet: Packet) {
        encode::append(&mut self.out, &packet);
    }
}
