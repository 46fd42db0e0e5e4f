//! Other clocks than the archive's, from its clock anchors.

use trace_analyze::arguments;
use trace_format::{Event, Item};

use crate::times::nanos;

/// A clock of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The time since 1970.
    Realtime,
    /// The time since the start of the machine, without suspension.
    Monotonic,
    /// The time since the start of the machine.
    Boottime,
}

impl Clock {
    const ALL: [Self; 3] = [Self::Realtime, Self::Monotonic, Self::Boottime];

    /// Returns the argument of an anchor with the clock's time.
    fn argument(self) -> &'static str {
        match self {
            Self::Realtime => "realtime_ns",
            Self::Monotonic => "monotonic_ns",
            Self::Boottime => "boottime_ns",
        }
    }
}

/// The times of clock anchors: that of the archive, and that of each clock.
#[derive(Debug, Default, Clone)]
pub struct Clocks {
    anchors: Vec<(i64, [Option<i64>; 3])>,
}

impl Clocks {
    pub(super) fn note(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let time = |clock: Clock| {
            let time = arguments::named_unsigned(item, &event.arguments, clock.argument())?;
            i64::try_from(time).ok()
        };
        self.anchors.push((nanos(item, event.ticks), Clock::ALL.map(time)));
    }

    pub(super) fn sort(&mut self) {
        self.anchors.sort_unstable();
    }

    /// Converts a time of the archive to a clock, by the last anchor that is not after it, else by
    /// the first one. Returns `None` if the archive has no anchor.
    #[must_use]
    pub fn convert(&self, nanos: i64, clock: Clock) -> Option<i64> {
        let later = self.anchors.partition_point(|(at, _)| *at <= nanos);
        let (at, times) = self.anchors.get(later.saturating_sub(1))?;
        times[clock as usize]?.checked_add(nanos.checked_sub(*at)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_anchor_before_a_time_counts() {
        let anchor = |at, real| (at, [Some(real), None, Some(at)]);
        let clocks = Clocks { anchors: vec![anchor(100, 5_000), anchor(200, 6_000)] };
        let realtime = |nanos| clocks.convert(nanos, Clock::Realtime);
        assert_eq!(
            [90, 100, 199, 200, 300].map(realtime).map(Option::unwrap),
            [4_990, 5_000, 5_099, 6_000, 6_100]
        );
        assert_eq!(clocks.convert(100, Clock::Monotonic), None);
        assert_eq!(clocks.convert(150, Clock::Boottime), Some(150));
        assert_eq!(Clocks::default().convert(1, Clock::Realtime), None);
    }
}
