//! The packets of one thread, from the buffers of several CPUs.

use crate::pt::{encode, ExecMode, Ip, Packet};
use crate::recording::{SpaceId, TraceId};

/// The packets of a thread.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) trace: TraceId,
    /// The number of the buffer that has the last packets.
    pub(super) queue: u32,
    pub(super) space: Option<SpaceId>,
    /// Where code of another space begins.
    pub(super) positions: Vec<(u64, SpaceId)>,
    out: Vec<u8>,
    taken: u64,
    /// `None` if the next IP must be whole.
    last_ip: Option<u64>,
    tsc: Option<u64>,
    mode: Option<ExecMode>,
}

impl Stream {
    pub(super) fn new(trace: TraceId) -> Self {
        Self {
            trace,
            queue: u32::MAX,
            space: None,
            positions: Vec::new(),
            out: Vec::new(),
            taken: 0,
            last_ip: None,
            tsc: None,
            mode: None,
        }
    }

    /// Returns the number of bytes that were not taken yet.
    pub(super) fn waiting(&self) -> u64 {
        self.out.len() as u64
    }

    pub(super) fn written(&self) -> u64 {
        self.taken + self.out.len() as u64
    }

    /// Returns the packets since the last call.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.taken = self.written();
        std::mem::take(&mut self.out)
    }

    /// Begins a part with the code of `space`. Tracing is off.
    pub(super) fn begin_part(&mut self, space: SpaceId) {
        self.space = Some(space);
        self.positions.push((self.written(), space));
    }

    /// Writes PSB+: decoding can begin here, at `ip` or while tracing is off.
    pub(super) fn psb(&mut self, tsc: Option<u64>, mode: ExecMode, ip: Option<u64>) {
        self.last_ip = None;
        self.append(Packet::Psb);
        let last = self.tsc.take();
        self.time(tsc.max(last));
        self.mode = None;
        self.mode(mode);
        if let Some(ip) = ip {
            self.ip(Packet::Fup, Some(ip));
        }
        self.append(Packet::PsbEnd);
    }

    /// Writes a time stamp, if the time has grown. Cycles may have been counted beyond the next
    /// time stamp of the processor.
    pub(super) fn time(&mut self, tsc: Option<u64>) {
        if let Some(ticks) = tsc.filter(|_| tsc > self.tsc) {
            self.append(Packet::Tsc(ticks));
            self.tsc = tsc;
        }
    }

    /// Writes the mode from the next target on, if it is another one.
    pub(super) fn mode(&mut self, mode: ExecMode) {
        if self.mode.replace(mode) != Some(mode) {
            self.append(Packet::ModeExec(mode));
        }
    }

    pub(super) fn ip(&mut self, packet: fn(Ip) -> Packet, ip: Option<u64>) {
        let Some(ip) = ip else { return self.append(packet(Ip::SUPPRESSED)) };
        // Against the complement, no bytes of the IP can be omitted.
        let last = self.last_ip.replace(ip).unwrap_or(!ip);
        self.append(packet(Ip::compress(ip, last)));
    }

    /// Packets are missing.
    pub(super) fn overflow(&mut self) {
        (self.last_ip, self.tsc) = (None, None);
        self.append(Packet::Ovf);
    }

    pub(super) fn append(&mut self, packet: Packet) {
        encode::append(&mut self.out, &packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pt::PacketDecoder;

    #[test]
    fn times_do_not_go_back_before_packets_are_missing() {
        let mut stream = Stream::new(TraceId(0));
        stream.psb(Some(1000), ExecMode::LONG, None);
        for tsc in [1500, 1200, 1500, 1600] {
            stream.time(Some(tsc));
        }
        stream.psb(Some(1400), ExecMode::LONG, None);
        stream.overflow();
        stream.time(Some(1300));
        let mut packets = PacketDecoder::new();
        packets.push(&stream.take());
        let mut found = Vec::new();
        packets.visit(|at| found.push(at.packet)).unwrap();
        let times = found.into_iter().filter_map(|packet| match packet {
            Packet::Tsc(ticks) => Some(ticks),
            _ => None,
        });
        assert_eq!(times.collect::<Vec<_>>(), [1000, 1500, 1600, 1600, 1300]);
    }
}
