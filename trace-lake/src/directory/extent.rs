//! The times of the first and the last record.

use trace_format::TickRate;

use crate::times::{signed, SATURATED};

/// Seconds whose nanoseconds are in range of a signed column for certain.
const SURE_SECONDS: u64 = 9_000_000_000;

/// Times of records. Ticks of one clock are compared as they are, because a conversion of each
/// takes a division.
#[derive(Debug, Default)]
pub(super) struct Extent {
    rate: TickRate,
    /// The least and the greatest ticks of `rate`.
    ticks: Option<(u64, u64)>,
    nanos: Option<(i64, i64)>,
}

impl Extent {
    #[inline]
    pub(super) fn note(&mut self, rate: TickRate, ticks: u64) {
        if rate != self.rate {
            self.convert();
            self.rate = rate;
        }
        if ticks > rate.ticks_per_second().saturating_mul(SURE_SECONDS) {
            return self.widen(signed(rate.to_nanos(ticks)));
        }
        let (first, last) = self.ticks.unwrap_or((ticks, ticks));
        self.ticks = Some((first.min(ticks), last.max(ticks)));
    }

    /// Returns the times in nanoseconds. Those beyond 292 years are damaged, and are left out.
    pub(super) fn finish(mut self) -> Option<(i64, i64)> {
        self.convert();
        self.nanos
    }

    fn convert(&mut self) {
        if let Some((first, last)) = self.ticks.take() {
            self.widen(signed(self.rate.to_nanos(first)));
            self.widen(signed(self.rate.to_nanos(last)));
        }
    }

    fn widen(&mut self, nanos: i64) {
        if nanos != SATURATED {
            let (first, last) = self.nanos.unwrap_or((nanos, nanos));
            self.nanos = Some((first.min(nanos), last.max(nanos)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_clocks_count_unless_they_saturate() {
        let rate = |ticks| TickRate::from_ticks_per_second(ticks).unwrap();
        let mut extent = Extent::default();
        extent.note(rate(1_000_000_000), 7_000);
        extent.note(rate(1_000_000_000), 5_000);
        extent.note(rate(1_000_000), 9);
        extent.note(rate(1_000_000), u64::MAX);
        // Beyond the sure seconds, and 292 years are not over.
        extent.note(rate(1), 9_100_000_000);
        extent.note(rate(1_000_000_000), 6_000);
        assert_eq!(extent.finish(), Some((5_000, 9_100_000_000_000_000_000)));
        assert_eq!(Extent::default().finish(), None);
    }
}
