//! Cues: what packets say about the flow, combined and in order.

use std::collections::VecDeque;

use super::item::Event;
use super::FlowErrorKind;
use crate::pt::{ExecMode, Ip, Packet, PacketAt, PacketClock, Timing, Tnt};

/// The most packets that wait for a FUP. The hardware has no more than three.
const MAX_BOUND: usize = 8;

/// The most time stamps between two cues that are kept. Of more, the last one is.
const MAX_TIMES: usize = 1 << 12;

/// The meaning of packets that belong together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cue {
    /// The offset of the first of the packets.
    pub(super) offset: u64,
    pub(super) kind: CueKind,
    /// The execution mode from here on, if it changes.
    pub(super) mode: Option<ExecMode>,
    /// The last time stamp before.
    pub(super) tsc: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum CueKind {
    /// TNT.
    Branches(Tnt),
    /// TIP.
    Target(u64),
    /// TIP.PGE.
    Enable(u64),
    /// TIP.PGD.
    Disable(Option<u64>),
    /// FUP and TIP.
    Interrupt { from: u64, to: u64 },
    /// FUP and TIP.PGD.
    InterruptAndDisable { from: u64, to: Option<u64> },
    /// OVF, with FUP if tracing is on.
    Overflow(Option<u64>),
    /// PSB+, with FUP if tracing is on.
    Boundary(Option<u64>),
    /// A packet without an effect on the flow.
    Report(Event),
}

/// Packets whose meaning depends on those that follow.
#[derive(Debug, Clone, Copy, Default)]
enum Pending {
    #[default]
    None,
    /// In PSB+, with its FUP.
    Boundary {
        offset: u64,
        ip: Option<u64>,
    },
    Overflow {
        offset: u64,
    },
    Fup {
        offset: u64,
        ip: u64,
    },
}

/// Turns packets into cues.
#[derive(Debug, Clone, Default)]
pub(super) struct Cues {
    queue: VecDeque<Cue>,
    pending: Pending,
    /// Packets that the next FUP belongs to.
    bound: Vec<PacketAt>,
    last_ip: u64,
    mode: Option<ExecMode>,
    tsc: Option<u64>,
    /// The time stamps since [`take_times`](Self::take_times).
    times: VecDeque<u64>,
    /// The clock of MTC and CYC packets, if they are used.
    clock: Option<PacketClock>,
}

/// A packet that is not allowed at its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct BadCue {
    pub(super) offset: u64,
    pub(super) kind: FlowErrorKind,
}

impl Cues {
    /// Returns the next cue.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Cue> {
        self.queue.pop_front()
    }

    /// Moves the time stamps since the last call to `times`. Returns the last one that was there.
    #[inline]
    pub(super) fn take_times(&mut self, times: &mut VecDeque<u64>) -> Option<u64> {
        let last = times.back().copied();
        if last.is_some() || !self.times.is_empty() {
            times.clear();
            std::mem::swap(times, &mut self.times);
        }
        last
    }

    /// Returns whether there is no cue.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Uses MTC and CYC packets.
    pub(super) fn set_timing(&mut self, timing: Timing) {
        // Without a ratio, packets between time stamps have no time.
        self.clock = (timing != Timing::default()).then(|| PacketClock::new(timing));
    }

    /// Drops pending packets, after a gap.
    pub(super) fn reset(&mut self) {
        let (queue, mut clock) = (std::mem::take(&mut self.queue), self.clock);
        clock.iter_mut().for_each(PacketClock::reset);
        *self = Self { queue, clock, ..Self::default() };
    }

    /// Ends the stream: pending packets do not wait any longer.
    pub(super) fn end(&mut self) {
        self.settle();
        self.pending = Pending::None;
    }

    /// Returns the cue of a branch packet to which no other packet belongs, or `None` for another
    /// packet. Most packets are such, and are not queued.
    #[inline]
    pub(super) fn single(&mut self, at: PacketAt) -> Option<Cue> {
        if !matches!(self.pending, Pending::None) || !self.bound.is_empty() {
            return None;
        }
        let kind = match at.packet {
            Packet::Tnt(tnt) | Packet::LongTnt(tnt) => {
                let kind = CueKind::Branches(tnt);
                return Some(Cue { offset: at.offset, kind, mode: None, tsc: self.tsc });
            }
            Packet::Tip(ip) => CueKind::Target(self.resolve(ip)?),
            Packet::TipPge(ip) => CueKind::Enable(self.resolve(ip)?),
            Packet::TipPgd(ip) => CueKind::Disable(self.resolve(ip)),
            _ => return None,
        };
        // A mode belongs to the next target.
        Some(Cue { offset: at.offset, kind, mode: self.mode.take(), tsc: self.tsc })
    }

    /// Takes the next packet, if it is not [`single`](Self::single).
    pub(super) fn packet(&mut self, at: PacketAt) -> Result<(), BadCue> {
        self.refine(&at.packet);
        match at.packet {
            Packet::Tnt(_) | Packet::LongTnt(_) | Packet::TipPge(_) => {
                self.outside_boundary(at)?;
                self.push_single(at)?;
            }
            Packet::Tip(_) | Packet::TipPgd(_) => self.branch(at)?,
            Packet::Tsc(ticks) => self.time_stamp(ticks),
            Packet::Pad | Packet::Mtc(_) | Packet::Tma { .. } => {}
            Packet::Cyc(_) | Packet::Cbr(_) | Packet::Mnt(_) => {}
            Packet::ModeExec(mode) => self.mode = Some(mode),
            Packet::Psb => self.psb(at.offset),
            Packet::PsbEnd => self.psb_end(at)?,
            Packet::Fup(ip) => self.fup(at, ip)?,
            Packet::Ovf => self.overflow(at.offset),
            _ => self.report(at),
        }
        Ok(())
    }

    fn push_single(&mut self, at: PacketAt) -> Result<(), BadCue> {
        let cue = self.single(at).ok_or(no_ip(at))?;
        self.queue.push_back(cue);
        Ok(())
    }

    /// Takes the time of a packet between time stamps. It does not go back.
    #[inline]
    fn refine(&mut self, packet: &Packet) {
        let Some(clock) = &mut self.clock else { return };
        let is_refined = clock.packet(packet) && !matches!(packet, Packet::Tsc(_));
        let now = clock.now();
        if let Some(now) = now.filter(|_| is_refined && now > self.tsc) {
            self.time(now);
        }
    }

    /// Takes a time stamp. Cycles may have been counted beyond it: refined times do not go back.
    fn time_stamp(&mut self, ticks: u64) {
        let least = self.tsc.filter(|_| self.clock.is_some());
        self.time(least.map_or(ticks, |least| ticks.max(least)));
    }

    fn time(&mut self, ticks: u64) {
        self.tsc = Some(ticks);
        if self.times.len() == MAX_TIMES {
            self.times.pop_back();
        }
        self.times.push_back(ticks);
    }

    /// PSB is allowed at any position, so it ends all pending packets.
    fn psb(&mut self, offset: u64) {
        self.settle();
        self.last_ip = 0;
        self.mode = None;
        self.pending = Pending::Boundary { offset, ip: None };
    }

    fn psb_end(&mut self, at: PacketAt) -> Result<(), BadCue> {
        let Pending::Boundary { offset, ip } = self.pending else {
            return Err(unexpected(at));
        };
        self.pending = Pending::None;
        self.push_with_mode(offset, CueKind::Boundary(ip));
        Ok(())
    }

    fn fup(&mut self, at: PacketAt, ip: Ip) -> Result<(), BadCue> {
        let offset = at.offset;
        if let (Pending::Boundary { offset, .. }, None) = (self.pending, ip.resolve(0)) {
            self.pending = Pending::Boundary { offset, ip: None };
            return Ok(());
        }
        let ip = self.resolve(ip).ok_or(no_ip(at))?;
        match self.pending {
            Pending::Boundary { offset, .. } => {
                self.pending = Pending::Boundary { offset, ip: Some(ip) };
            }
            Pending::Overflow { offset } => {
                self.pending = Pending::None;
                self.push(offset, CueKind::Overflow(Some(ip)));
            }
            _ if !self.bound.is_empty() => self.report_bound(Some(ip)),
            _ => self.pending = Pending::Fup { offset, ip },
        }
        Ok(())
    }

    /// Takes a TIP or TIP.PGD, which may belong to a FUP.
    fn branch(&mut self, at: PacketAt) -> Result<(), BadCue> {
        self.report_bound(None);
        let (offset, from) = match self.pending {
            Pending::None => return self.push_single(at),
            Pending::Fup { offset, ip } => (offset, ip),
            _ => return Err(unexpected(at)),
        };
        let kind = match at.packet {
            Packet::TipPgd(to) => CueKind::InterruptAndDisable { from, to: self.resolve(to) },
            Packet::Tip(to) => CueKind::Interrupt { from, to: self.resolve(to).ok_or(no_ip(at))? },
            _ => return Err(unexpected(at)),
        };
        self.pending = Pending::None;
        self.push_with_mode(offset, kind);
        Ok(())
    }

    /// An overflow may cut PSB+ short.
    fn overflow(&mut self, offset: u64) {
        self.settle();
        self.last_ip = 0;
        self.mode = None;
        self.pending = Pending::Overflow { offset };
    }

    /// Takes a packet without an effect on the flow. A FUP may belong to it.
    fn report(&mut self, at: PacketAt) {
        if let Pending::Overflow { .. } = self.pending {
            self.settle();
        }
        let in_boundary = matches!(self.pending, Pending::Boundary { .. });
        if takes_fup(at.packet) && !in_boundary {
            if self.bound.len() == MAX_BOUND {
                self.report_bound(None);
            }
            self.bound.push(at);
        } else {
            let event = Event::Packet { packet: at.packet, ip: None };
            self.push(at.offset, CueKind::Report(event));
        }
    }

    fn report_bound(&mut self, ip: Option<u64>) {
        for at in std::mem::take(&mut self.bound) {
            let event = Event::Packet { packet: at.packet, ip };
            self.push(at.offset, CueKind::Report(event));
        }
    }

    /// Ends pending packets whose successors did not arrive.
    fn settle(&mut self) {
        self.report_bound(None);
        if let Pending::Overflow { offset } = self.pending {
            self.push(offset, CueKind::Overflow(None));
        }
        if !matches!(self.pending, Pending::Boundary { .. }) {
            self.pending = Pending::None;
        }
    }

    /// Ends pending packets before a packet that is not part of PSB+.
    fn outside_boundary(&mut self, at: PacketAt) -> Result<(), BadCue> {
        if let Pending::Boundary { .. } = self.pending {
            return Err(unexpected(at));
        }
        self.settle();
        Ok(())
    }

    /// Returns the whole IP, and makes it the last one.
    #[inline]
    fn resolve(&mut self, ip: Ip) -> Option<u64> {
        self.last_ip = ip.resolve(self.last_ip)?;
        Some(self.last_ip)
    }

    /// A mode belongs to the next target.
    fn push_with_mode(&mut self, offset: u64, kind: CueKind) {
        let mode = self.mode.take();
        self.queue.push_back(Cue { offset, kind, mode, tsc: self.tsc });
    }

    fn push(&mut self, offset: u64, kind: CueKind) {
        self.queue.push_back(Cue { offset, kind, mode: None, tsc: self.tsc });
    }
}

/// Returns whether the next FUP belongs to the packet and does not begin an interrupt.
fn takes_fup(packet: Packet) -> bool {
    match packet {
        Packet::PtWrite { ip, .. } | Packet::ExStop { ip } => ip,
        Packet::Mwait { .. } => true,
        // The FUP of an abort is followed by the TIP of its handler.
        Packet::ModeTsx(mode) => !mode.aborted,
        _ => false,
    }
}

fn no_ip(at: PacketAt) -> BadCue {
    BadCue { offset: at.offset, kind: FlowErrorKind::NoIp }
}

fn unexpected(at: PacketAt) -> BadCue {
    BadCue { offset: at.offset, kind: FlowErrorKind::UnexpectedPacket }
}
