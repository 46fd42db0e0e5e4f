//! The time of packets.

use super::super::layout::info;
use crate::pt::Packet;

/// How MTC packets refine the time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clocks {
    /// The distance of MTC packets in ticks of the crystal clock, as a power of two.
    period: u32,
    /// Ticks of the time stamp counter for each tick of the crystal clock.
    ratio: Option<(u64, u64)>,
    state: State,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    tsc: Option<u64>,
    /// The crystal clock's counter at `tsc`, which TMA has, and since then.
    crystal: Option<Crystal>,
}

#[derive(Debug, Clone, Copy)]
struct Crystal {
    /// The time of the last tick of the crystal clock before TMA.
    tsc: u64,
    /// The last MTC packet: bits of the counter in units of the period.
    last: u8,
    /// The units since TMA.
    units: u64,
    /// The ticks before the first unit.
    offset: u64,
}

impl Clocks {
    /// Returns the clocks of a file, at a time that is not known yet.
    pub(super) fn new(fields: &[u64], config: u64) -> Self {
        let field = |index: usize| fields.get(index).copied().unwrap_or(0);
        let bits = field(info::MTC_FREQUENCY_BITS);
        let period = (config & bits).checked_shr(bits.trailing_zeros()).unwrap_or(0);
        let (numerator, denominator) =
            (field(info::TSC_CTC_NUMERATOR), field(info::TSC_CTC_DENOMINATOR));
        let ratio = (numerator != 0 && denominator != 0).then_some((numerator, denominator));
        Self { period: (period & 0xf) as u32, ratio, state: State::default() }
    }

    /// Returns the clocks of a processor with MTC packets every 2^`period` ticks of the crystal
    /// clock, of which each is `ratio` ticks of the time stamp counter.
    #[must_use]
    pub fn of_processor(period: u32, ratio: Option<(u64, u64)>) -> Self {
        Self { period: period & 0xf, ratio, state: State::default() }
    }

    /// Returns the last known time.
    pub(super) fn now(&self) -> Option<u64> {
        let State { tsc, crystal } = self.state;
        let crystal = crystal.and_then(|it| self.time_of(it));
        tsc.max(crystal)
    }

    /// Drops the time, after a gap.
    pub(super) fn reset(&mut self) {
        self.state = State::default();
    }

    pub(super) fn packet(&mut self, packet: Packet) {
        match packet {
            Packet::Tsc(ticks) => self.state = State { tsc: Some(ticks), crystal: None },
            Packet::Tma { ctc, fast_counter } => self.align(ctc, fast_counter),
            Packet::Mtc(value) => {
                if let Some(crystal) = &mut self.state.crystal {
                    crystal.units += u64::from(value.wrapping_sub(crystal.last));
                    crystal.last = value;
                }
            }
            _ => {}
        }
    }

    fn align(&mut self, ctc: u16, fast_counter: u16) {
        let Some(tsc) = self.state.tsc.filter(|_| self.ratio.is_some()) else { return };
        let (ctc, period) = (u64::from(ctc), self.period);
        self.state.crystal = Some(Crystal {
            tsc: tsc.saturating_sub(fast_counter.into()),
            last: (ctc >> period) as u8,
            units: 0,
            offset: ctc & ((1 << period) - 1),
        });
    }

    /// Returns the time of the last MTC packet, or `None` before the first one.
    fn time_of(&self, crystal: Crystal) -> Option<u64> {
        let (numerator, denominator) = self.ratio?;
        let ticks = (crystal.units << self.period).checked_sub(crystal.offset)?;
        let ticks = u128::from(ticks) * u128::from(numerator) / u128::from(denominator);
        (crystal.units != 0).then(|| crystal.tsc.saturating_add(ticks as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_the_crystal_clock_refine_the_time() {
        let mut fields = [0; 17];
        fields[info::MTC_FREQUENCY_BITS] = 0xf << 14;
        fields[info::TSC_CTC_NUMERATOR] = 250;
        fields[info::TSC_CTC_DENOMINATOR] = 2;
        let mut clocks = Clocks::new(&fields, 3 << 14 | 1);
        assert_eq!(clocks.now(), None);
        clocks.packet(Packet::Mtc(7));
        assert_eq!(clocks.now(), None);
        clocks.packet(Packet::Tsc(1_000_000));
        assert_eq!(clocks.now(), Some(1_000_000));
        // Counter 0x7fd: 255 units of 8 and 5 ticks.
        clocks.packet(Packet::Tma { ctc: 0x7fd, fast_counter: 100 });
        assert_eq!(clocks.now(), Some(1_000_000));
        clocks.packet(Packet::Mtc(0));
        assert_eq!(clocks.now(), Some(1_000_000 - 100 + 3 * 125));
        clocks.packet(Packet::Mtc(2));
        assert_eq!(clocks.now(), Some(1_000_000 - 100 + 19 * 125));
        clocks.packet(Packet::Tsc(2_000_000));
        assert_eq!(clocks.now(), Some(2_000_000));
        clocks.reset();
        assert_eq!(clocks.now(), None);
    }
}
