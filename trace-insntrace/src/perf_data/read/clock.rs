//! How packets of a file refine the time.

use super::super::layout::info;
use crate::pt::Timing;

/// Returns the timing of packets of an event of this configuration, by the fields of the file.
pub(super) fn timing(fields: &[u64], config: u64) -> Timing {
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    let narrow = |index: usize| u32::try_from(field(index)).ok().filter(|value| *value != 0);
    let bits = field(info::MTC_FREQUENCY_BITS);
    let period = (config & bits).checked_shr(bits.trailing_zeros()).unwrap_or(0);
    Timing {
        mtc_period: (period & 0xf) as u8,
        crystal: narrow(info::TSC_CTC_NUMERATOR).zip(narrow(info::TSC_CTC_DENOMINATOR)),
        nominal: u8::try_from(field(info::NOMINAL_RATIO)).ok().filter(|ratio| *ratio != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pt::{Packet, PacketClock};

    #[test]
    fn packets_of_the_crystal_clock_refine_the_time() {
        let mut fields = [0; 17];
        fields[info::MTC_FREQUENCY_BITS] = 0xf << 14;
        fields[info::TSC_CTC_NUMERATOR] = 250;
        fields[info::TSC_CTC_DENOMINATOR] = 2;
        let mut clock = PacketClock::new(timing(&fields, 3 << 14 | 1));
        let mut after = |packet| {
            clock.packet(&packet);
            clock.now()
        };
        assert_eq!(after(Packet::Mtc(7)), None);
        assert_eq!(after(Packet::Tsc(1_000_000)), Some(1_000_000));
        // Counter 0x7fd: 255 units of 8 and 5 ticks.
        let aligned = Packet::Tma { ctc: 0x7fd, fast_counter: 100 };
        assert_eq!(after(aligned), Some(1_000_000));
        assert_eq!(after(Packet::Mtc(0)), Some(1_000_000 - 100 + 3 * 125));
        assert_eq!(after(Packet::Mtc(2)), Some(1_000_000 - 100 + 19 * 125));
        assert_eq!(after(Packet::Tsc(2_000_000)), Some(2_000_000));
        clock.reset();
        assert_eq!(clock.now(), None);
    }

    #[test]
    fn cycles_refine_the_time_by_the_ratios_of_the_core() {
        let mut fields = [0; 17];
        fields[info::NOMINAL_RATIO] = 30;
        let mut clock = PacketClock::new(timing(&fields, 1 << 1));
        for packet in [Packet::Tsc(1_000_000), Packet::Cbr(15), Packet::Cyc(100)] {
            clock.packet(&packet);
        }
        // At half of the frequency, a cycle is two ticks.
        assert_eq!(clock.now(), Some(1_000_200));
        fields[info::NOMINAL_RATIO] = 256;
        assert_eq!(timing(&fields, 0).nominal, None);
    }

    #[test]
    fn files_without_a_ratio_have_time_stamps_only() {
        assert_eq!(timing(&[], 0), Timing::default());
        let mut fields = [u64::MAX; 17];
        fields[info::TSC_CTC_DENOMINATOR] = 0;
        assert_eq!(timing(&fields, u64::MAX).crystal, None);
    }
}
