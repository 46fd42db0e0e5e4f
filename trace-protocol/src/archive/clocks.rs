//! Reading all clocks at one moment, and the rate of the CPU's counter between two moments.

use std::time::Duration;

use crate::counter;
use crate::message::ClockSource;
use crate::sys::time::nanoseconds;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// How many times a sample is tried; the quickest try counts.
const TRIES: usize = 8;

/// The same moment on every clock. The kernel's clocks are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct ClockSample {
    /// The CPU's counter; `CLOCK_BOOTTIME` where there is none.
    counter: u64,
    pub(super) boottime: u64,
    pub(super) monotonic: u64,
    pub(super) realtime: u64,
}

impl ClockSample {
    /// Reads the clocks now.
    pub fn now() -> Self {
        let tries = (0..TRIES).map(|_| Self::read());
        let best = tries.min_by_key(|(span, _)| *span);
        best.map_or_else(|| Self::read().1, |(_, sample)| sample)
    }

    /// Reads the clocks once, and says how long that took in ticks of the counter.
    fn read() -> (u64, Self) {
        let before = counter::read();
        let boottime = nanoseconds(libc::CLOCK_BOOTTIME);
        let after = counter::read();
        let (monotonic, realtime) =
            (nanoseconds(libc::CLOCK_MONOTONIC), nanoseconds(libc::CLOCK_REALTIME));
        let (span, middle) = before.zip(after).map_or((0, before), between);
        let counter = middle.unwrap_or(boottime);
        (span, Self { counter, boottime, monotonic, realtime })
    }

    /// A moment of an archive: the provider's `ticks`, and the kernel's clocks.
    pub fn recorded(ticks: u64, boottime: u64, monotonic: u64, realtime: u64) -> Self {
        Self { counter: ticks, boottime, monotonic, realtime }
    }

    /// The moment at `counter`, by the counter's rate. All clocks advance by the same time.
    pub fn at(&self, counter: u64, ticks_per_second: u64) -> Self {
        let ticks = u128::from(counter.saturating_sub(self.counter)) * u128::from(NANOS_PER_SECOND);
        let nanos = ticks.checked_div(u128::from(ticks_per_second)).unwrap_or(0);
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        let advance = |clock: u64| clock.saturating_add(nanos);
        Self {
            counter: counter.max(self.counter),
            boottime: advance(self.boottime),
            monotonic: advance(self.monotonic),
            realtime: advance(self.realtime),
        }
    }

    /// The moment in ticks of a provider with this clock.
    pub fn ticks(&self, clock: ClockSource) -> u64 {
        match clock {
            ClockSource::CpuCounter => self.counter,
            ClockSource::Boottime => self.boottime,
        }
    }

    /// How long after `earlier` this was.
    pub fn since(&self, earlier: &Self) -> Duration {
        Duration::from_nanos(self.boottime.saturating_sub(earlier.boottime))
    }

    /// Ticks per second of a provider with this clock, measured from `earlier` to this; `None` if
    /// no time passed.
    pub fn rate_since(&self, earlier: &Self, clock: ClockSource) -> Option<u64> {
        let nanos = u128::from(self.boottime.saturating_sub(earlier.boottime));
        let ticks = u128::from(self.counter.saturating_sub(earlier.counter));
        match clock {
            ClockSource::Boottime => Some(NANOS_PER_SECOND),
            ClockSource::CpuCounter => {
                let rate = (ticks * u128::from(NANOS_PER_SECOND) + nanos / 2).checked_div(nanos)?;
                u64::try_from(rate).ok()
            }
        }
    }
}

/// How long it is from one value of the counter to another, and the value halfway.
fn between((before, after): (u64, u64)) -> (u64, Option<u64>) {
    let span = after.saturating_sub(before);
    (span, Some(before + span / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_nanoseconds_is_a_billion_and_that_of_the_counter_is_steady() {
        let first = ClockSample::now();
        std::thread::sleep(Duration::from_millis(20));
        let second = ClockSample::now();
        assert!(second.since(&first) >= Duration::from_millis(20));
        assert_eq!(second.rate_since(&first, ClockSource::Boottime), Some(NANOS_PER_SECOND));
        assert!(second.rate_since(&first, ClockSource::CpuCounter) > Some(1_000_000));
        assert_eq!(first.rate_since(&first, ClockSource::CpuCounter), None);
    }
    /// Of the counter's values around a moment the one halfway is the moment's.
    #[test]
    fn a_moment_is_halfway_between_two_values_of_the_counter() {
        assert_eq!(between((100, 110)), (10, Some(105)));
        assert_eq!(between((100, 100)), (0, Some(100)));
        assert_eq!(between((100, 90)), (0, Some(100)), "a counter that is set back");
    }

    #[test]
    fn the_ticks_of_a_moment_are_those_of_the_providers_clock() {
        let before = counter::read();
        let sample = ClockSample::now();
        let after = counter::read();
        assert_eq!(sample.ticks(ClockSource::Boottime), sample.boottime);
        assert!(sample.monotonic != 0 && sample.realtime > 1_500_000_000 * NANOS_PER_SECOND);
        if let (Some(before), Some(after)) = (before, after) {
            assert!((before..=after).contains(&sample.ticks(ClockSource::CpuCounter)));
        }
    }

    #[test]
    fn clocks_advance_with_the_counter() {
        let first = ClockSample::recorded(1_000, 10, 20, 30);
        let later = first.at(1_500, 1_000_000);
        let ClockSample { counter, boottime, monotonic, realtime } = later;
        assert_eq!((counter, boottime, monotonic, realtime), (1_500, 500_010, 500_020, 500_030));
        for same in [first.at(7, 1_000_000), first.at(1_000, 0)] {
            assert_eq!((same.counter, same.boottime), (1_000, 10));
        }
    }

    #[test]
    fn rates_are_rounded_to_whole_ticks() {
        let sample =
            |counter, boottime| ClockSample { counter, boottime, monotonic: 0, realtime: 0 };
        let rate = |ticks, nanos| {
            let (earlier, later) = (sample(1_000, 500), sample(1_000 + ticks, 500 + nanos));
            later.rate_since(&earlier, ClockSource::CpuCounter)
        };
        assert_eq!(rate(3, 2 * NANOS_PER_SECOND), Some(2), "1.5 is rounded up");
        assert_eq!(rate(4, 3 * NANOS_PER_SECOND), Some(1), "1.33 is rounded down");
        assert_eq!(rate(24_000_000, NANOS_PER_SECOND), Some(24_000_000));
        assert_eq!(rate(u64::MAX - 1_000, 1), None, "no 64 bits hold it");
        assert_eq!(rate(5, 0), None);
        assert_eq!(sample(0, 7).since(&sample(0, 5)), Duration::from_nanos(2));
        assert_eq!(sample(0, 5).since(&sample(0, 7)), Duration::ZERO);
    }
}
