//! Conversion of ticks to nanoseconds.

use crate::layout::DEFAULT_TICKS_PER_SECOND;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The rate of a provider's clock ("Timestamps").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickRate {
    ticks_per_second: u64,
}

impl TickRate {
    /// Returns the rate, or `None` if `ticks_per_second` is 0.
    #[must_use]
    pub const fn from_ticks_per_second(ticks_per_second: u64) -> Option<Self> {
        if ticks_per_second == 0 {
            return None;
        }
        Some(Self { ticks_per_second })
    }

    /// Returns the number of ticks per second, never 0.
    #[must_use]
    pub const fn ticks_per_second(self) -> u64 {
        self.ticks_per_second
    }

    /// Converts a time in ticks to nanoseconds, rounded down.
    ///
    /// Times beyond `u64::MAX` nanoseconds (584 years) saturate.
    #[inline]
    #[must_use]
    pub const fn to_nanos(self, ticks: u64) -> u64 {
        if self.ticks_per_second == NANOS_PER_SECOND {
            return ticks;
        }
        // One division if the product fits, as for a length of up to 18 s at 1 GHz.
        if let Some(product) = ticks.checked_mul(NANOS_PER_SECOND) {
            return product / self.ticks_per_second;
        }
        let seconds = ticks / self.ticks_per_second;
        let rest = ticks % self.ticks_per_second;
        let nanos = seconds.saturating_mul(NANOS_PER_SECOND);
        nanos.saturating_add(self.part_to_nanos(rest))
    }

    /// Returns whether [`TickRate::to_nanos`] saturates: `ticks` are beyond `u64::MAX` nanoseconds.
    #[inline]
    #[must_use]
    pub const fn saturates(self, ticks: u64) -> bool {
        // Only a clock slower than 1 GHz has fewer ticks than nanoseconds.
        self.ticks_per_second < NANOS_PER_SECOND
            && ticks as u128 * NANOS_PER_SECOND as u128 / self.ticks_per_second as u128
                > u64::MAX as u128
    }

    /// Converts a length in ticks to nanoseconds, rounded to the nearest, half up.
    ///
    /// Rounding down would make sums of many lengths too small. Products of ticks and 10⁹ beyond
    /// 64 bits (6 s at 3 GHz) are rounded down. Lengths beyond `u64::MAX` nanoseconds saturate.
    #[inline]
    #[must_use]
    pub const fn length_to_nanos(self, ticks: u64) -> u64 {
        if self.ticks_per_second == NANOS_PER_SECOND {
            return ticks;
        }
        let half = self.ticks_per_second / 2;
        match ticks.checked_mul(NANOS_PER_SECOND) {
            Some(product) if product <= u64::MAX - half => (product + half) / self.ticks_per_second,
            // Half a nanosecond is negligible in such a length.
            _ => self.to_nanos(ticks),
        }
    }

    /// Converts less than one second, rounded down.
    const fn part_to_nanos(self, ticks: u64) -> u64 {
        match ticks.checked_mul(NANOS_PER_SECOND) {
            Some(product) => product / self.ticks_per_second,
            // Only for clocks beyond 18 GHz. The quotient is less than one second.
            None => {
                let product = ticks as u128 * NANOS_PER_SECOND as u128;
                (product / self.ticks_per_second as u128) as u64
            }
        }
    }
}

impl Default for TickRate {
    /// Returns one tick per nanosecond, the rate of a provider without an initialization record.
    fn default() -> Self {
        Self { ticks_per_second: DEFAULT_TICKS_PER_SECOND }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(ticks_per_second: u64, ticks: u64) -> u64 {
        TickRate::from_ticks_per_second(ticks_per_second).unwrap().to_nanos(ticks)
    }

    #[test]
    fn literal_values() {
        assert_eq!(TickRate::from_ticks_per_second(0), None);
        assert_eq!(TickRate::default().to_nanos(u64::MAX), u64::MAX);
        assert_eq!(nanos(24_000_000, 24), 1_000);
        assert_eq!(nanos(3_000_000_000, 10), 3);
        assert_eq!(nanos(3_000_000_000, u64::MAX), 6_148_914_691_236_517_205);
        assert_eq!(nanos(1, 2), 2_000_000_000);
        assert_eq!(nanos(1, u64::MAX), u64::MAX);
        assert_eq!(nanos(u64::MAX, u64::MAX - 1), 999_999_999);
    }

    #[test]
    fn lengths_are_rounded_to_the_nearest() {
        let rate = TickRate::from_ticks_per_second(3_000_000_000).unwrap();
        let lengths = [1, 2, 4, 5, 7_000_000_000_000].map(|ticks| rate.length_to_nanos(ticks));
        assert_eq!(lengths, [0, 1, 1, 2, 2_333_333_333_333]);
        let sum: u64 = (0..3_000).map(|ticks| rate.length_to_nanos(ticks)).sum();
        assert_eq!(sum, (0..3_000).sum::<u64>() / 3);
    }

    #[test]
    fn lengths_whose_product_has_64_bits_are_rounded_down() {
        let rate = TickRate::from_ticks_per_second(3_000_000_000).unwrap();
        assert_eq!(rate.ticks_per_second(), 3_000_000_000);
        // 10⁹ times the first length fits 64 bits, but not the sum with half of the rate.
        let lengths = [18_446_744_073, 18_446_744_074].map(|ticks| rate.length_to_nanos(ticks));
        assert_eq!(lengths, [6_148_914_691, 6_148_914_691]);
        assert_eq!(TickRate::default().length_to_nanos(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_largest_time_does_not_saturate() {
        let rate = TickRate::from_ticks_per_second(200_000_000).unwrap();
        let ticks = u64::MAX / 5;
        assert_eq!((rate.to_nanos(ticks), rate.saturates(ticks)), (u64::MAX, false));
        assert_eq!((rate.to_nanos(ticks + 1), rate.saturates(ticks + 1)), (u64::MAX, true));
    }

    proptest! {
        #[test]
        fn same_as_with_128_bits(
            rate in prop_oneof![1u64.., 1u64..2_000_000_000],
            ticks in any::<u64>(),
        ) {
            let exact = u128::from(ticks) * 1_000_000_000 / u128::from(rate);
            prop_assert_eq!(nanos(rate, ticks), u64::try_from(exact).unwrap_or(u64::MAX));
            let rate = TickRate::from_ticks_per_second(rate).unwrap();
            prop_assert_eq!(rate.saturates(ticks), exact > u128::from(u64::MAX));
        }
    }
}
