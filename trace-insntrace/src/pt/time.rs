//! The time between time stamps.
//!
//! ```text
//!  TSC ─ TMA ──── MTC ──── MTC ──── MTC      the time stamp counter; then ticks of the crystal clock
//!             CYC  CYC  CYC  CYC   CYC       cycles of the core since the last such packet
//! ```
//!
//! The duration of a cycle is that of the last period between two MTC packets or, without them,
//! between two PSB; or that of a CBR packet, if the nominal frequency is known.

use super::calibration::Calibration;
use super::packet::Packet;
use super::timing::{Timing, TMA_BITS};

/// The time of packets: takes all packets of a stream, in their order.
///
/// # Examples
///
/// ```
/// use trace_insntrace::pt::{Packet, PacketClock, Timing};
///
/// // An MTC packet every 2^3 ticks of the crystal clock, each of 250 / 2 ticks of the counter.
/// let timing = Timing { mtc_period: 3, crystal: Some((250, 2)), nominal: None };
/// let mut clock = PacketClock::new(timing);
/// clock.packet(&Packet::Tsc(1_000_000));
/// clock.packet(&Packet::Tma { ctc: 0x10, fast_counter: 100 });
/// clock.packet(&Packet::Mtc(0x03));
/// assert_eq!(clock.now(), Some(1_000_000 - 100 + 8 * 125));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PacketClock {
    timing: Timing,
    calibration: Calibration,
    is_in_boundary: bool,
    now: Option<u64>,
    /// The time of the last TSC or MTC packet.
    base: u64,
    /// The ticks since then, by CYC and TMA packets.
    fast: u64,
    crystal: Crystal,
}

/// The crystal clock since the last TSC packet.
#[derive(Debug, Clone, Copy, Default)]
struct Crystal {
    has_tma: bool,
    /// Whether `last` has all bits of an MTC packet.
    is_whole: bool,
    last: u32,
    /// The value before the cycles of the next CYC packet.
    before_cycles: u32,
    /// Whether there were CYC packets of unknown duration.
    has_lost: bool,
}

impl PacketClock {
    /// Creates a clock whose time is not known yet.
    #[must_use]
    pub fn new(timing: Timing) -> Self {
        Self { timing, ..Self::default() }
    }

    /// Returns the time of the last packet, in ticks of the time stamp counter, or `None` before
    /// the first TSC packet.
    ///
    /// It may go back at a TSC or MTC packet, if more cycles were counted before it than there
    /// were, and at no other packet.
    #[must_use]
    pub fn now(&self) -> Option<u64> {
        self.now
    }

    /// Forgets the time, after a gap.
    pub fn reset(&mut self) {
        *self = Self::new(self.timing);
    }

    /// Takes the next packet. Returns whether it is one that has the time.
    pub fn packet(&mut self, packet: &Packet) -> bool {
        match *packet {
            Packet::Psb => self.is_in_boundary = true,
            Packet::PsbEnd => self.is_in_boundary = false,
            Packet::Ovf => (self.is_in_boundary, self.calibration) = Default::default(),
            Packet::Tsc(ticks) => self.time_stamp(ticks),
            Packet::Tma { ctc, fast_counter } => self.align(ctc.into(), fast_counter.into()),
            Packet::Mtc(value) => self.crystal(value),
            Packet::Cbr(ratio) => self.core_ratio(ratio),
            Packet::Cyc(cycles) => self.cycles(cycles),
            _ => {}
        }
        matches!(packet, Packet::Tsc(_) | Packet::Mtc(_) | Packet::Cyc(_))
    }

    fn time_stamp(&mut self, ticks: u64) {
        self.calibration.time_stamp(ticks, self.is_in_boundary);
        (self.now, self.base, self.fast) = (Some(ticks), ticks, 0);
        self.crystal = Crystal::default();
    }

    /// Takes a TMA packet: the crystal clock at the last TSC packet, and the ticks since its last
    /// tick.
    fn align(&mut self, ctc: u32, fast_counter: u64) {
        // Without the ratio, MTC packets have no time. They must not end the counting of cycles.
        if self.now.is_none() || self.crystal.has_tma || self.timing.ticks(0).is_none() {
            return;
        }
        let bits = self.timing.bits();
        let last = ctc & ((1 << bits) - 1);
        self.base = self.base.saturating_sub(fast_counter);
        self.fast = self.fast.saturating_add(fast_counter);
        self.crystal = Crystal {
            has_tma: true,
            // Otherwise the next MTC packet has the other bits.
            is_whole: bits <= TMA_BITS,
            last,
            before_cycles: last,
            has_lost: self.crystal.has_lost,
        };
    }

    fn crystal(&mut self, value: u8) {
        self.calibration.crystal(value, &self.timing);
        if self.now.is_none() || !self.crystal.has_tma {
            return;
        }
        let now = self.timing.of_mtc(value);
        let Crystal { is_whole, mut last, before_cycles, has_lost, .. } = self.crystal;
        let is_counted = self.fast != 0 || has_lost || !is_whole;
        self.crystal = Crystal {
            has_tma: true,
            is_whole: true,
            last: now,
            before_cycles: if is_counted { now } else { before_cycles },
            has_lost: false,
        };
        self.fast = 0;
        if !is_whole {
            last |= self.high_bits(now, last);
        }
        if let Some(ticks) = self.timing.ticks(self.timing.between(last, now)) {
            self.base = self.base.saturating_add(ticks);
            self.now = Some(self.base);
        }
    }

    /// Returns the bits of a TMA packet that it does not have: those of the MTC packet behind it,
    /// which is the next one.
    fn high_bits(&self, now: u32, last: u32) -> u32 {
        let low = (1 << TMA_BITS) - 1;
        let high = now & !low;
        let wraps = now & low < last;
        let before = if wraps { high.wrapping_sub(1 << TMA_BITS) } else { high };
        before & ((1 << self.timing.bits()) - 1) & !low
    }

    /// A CBR packet behind PSB+ is a change of the frequency.
    fn core_ratio(&mut self, ratio: u8) {
        if !self.is_in_boundary {
            self.calibration = Calibration::default();
        }
        self.calibration.core_ratio(ratio, &self.timing);
    }

    fn cycles(&mut self, cycles: u64) {
        self.calibration.cycles(cycles);
        if self.now.is_none() {
            return;
        }
        let Some(length) = self.calibration.cycle() else {
            self.crystal.has_lost = true;
            return;
        };
        let mut cycles = cycles;
        let Crystal { last, before_cycles, .. } = self.crystal;
        if self.fast == 0 && last != before_cycles {
            // The packet began in an earlier period of the crystal clock.
            let ticks = self.timing.ticks(self.timing.between(before_cycles, last));
            cycles = cycles.saturating_sub(length.cycles_in(ticks.unwrap_or(0)));
        }
        self.fast = self.fast.saturating_add(length.ticks_of(cycles));
        self.now = Some(self.base.saturating_add(self.fast));
    }
}
