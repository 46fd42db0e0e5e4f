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
        let span = match (before, after) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => 0,
        };
        let counter = before.map_or(boottime, |before| before + span / 2);
        (span, Self { counter, boottime, monotonic, realtime })
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
}
