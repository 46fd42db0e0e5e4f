//! Reading all clocks at one moment, and the rate of the CPU's counter between two moments.

use std::time::Duration;

use rustix::time::{clock_gettime, ClockId};
use trace_protocol::counter;
use trace_protocol::message::ClockSource;

/// The least time between two samples that give a rate: reading takes about 50 ns, which is 5 parts
/// in a million of it.
pub(crate) const LEAST_SPAN: Duration = Duration::from_millis(10);

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// How many times a sample is tried; the quickest try counts.
const TRIES: usize = 8;

/// The same moment on every clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockSample {
    /// The CPU's counter; `CLOCK_BOOTTIME` where there is none.
    counter: u64,
    pub(crate) boottime: u64,
    pub(crate) monotonic: u64,
    pub(crate) realtime: u64,
}

impl ClockSample {
    /// Reads the clocks now.
    pub(crate) fn now() -> Self {
        let tries = (0..TRIES).map(|_| Self::read());
        let best = tries.min_by_key(|(span, _)| *span);
        best.map_or_else(|| Self::read().1, |(_, sample)| sample)
    }

    /// Reads the clocks once, and says how long that took in ticks of the counter.
    fn read() -> (u64, Self) {
        let before = counter::read();
        let boottime = nanos(ClockId::Boottime);
        let monotonic = nanos(ClockId::Monotonic);
        let realtime = nanos(ClockId::Realtime);
        let span = match (before, counter::read()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => 0,
        };
        let counter = before.map_or(boottime, |before| before + span / 2);
        (span, Self { counter, boottime, monotonic, realtime })
    }

    /// Returns the moment in ticks of a provider with this clock.
    pub(crate) fn ticks(&self, clock: ClockSource) -> u64 {
        match clock {
            ClockSource::CpuCounter => self.counter,
            ClockSource::Boottime => self.boottime,
        }
    }

    /// Tells how long after `earlier` this was.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        Duration::from_nanos(self.boottime.saturating_sub(earlier.boottime))
    }

    /// Returns the counter's ticks per second between `earlier` and this.
    pub(crate) fn rate_since(&self, earlier: &Self) -> u64 {
        rate(
            self.counter.saturating_sub(earlier.counter),
            self.boottime.saturating_sub(earlier.boottime),
        )
    }
}

/// Takes a sample that is at least [`LEAST_SPAN`] after `earlier`, waiting if need be.
pub(crate) fn sample_after(earlier: &ClockSample) -> ClockSample {
    let passed = ClockSample::now().since(earlier);
    if let Some(rest) = LEAST_SPAN.checked_sub(passed) {
        std::thread::sleep(rest);
    }
    ClockSample::now()
}

/// Ticks per second, rounded; never 0.
fn rate(ticks: u64, nanos: u64) -> u64 {
    let nanos = u128::from(nanos.max(1));
    let rate = (u128::from(ticks) * u128::from(NANOS_PER_SECOND) + nanos / 2) / nanos;
    u64::try_from(rate).unwrap_or(u64::MAX).max(1)
}

/// Returns the ticks per second of a provider with this clock, when the counter has `counter_rate`.
pub(crate) fn ticks_per_second(clock: ClockSource, counter_rate: u64) -> u64 {
    match clock {
        ClockSource::CpuCounter => counter_rate,
        ClockSource::Boottime => NANOS_PER_SECOND,
    }
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * NANOS_PER_SECOND + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_and_never_zero() {
        assert_eq!(rate(2_995_200, 1_000_000), 2_995_200_000);
        assert_eq!(rate(2, 3), 666_666_667);
        assert_eq!(rate(0, 10), 1);
        assert_eq!(rate(5, 0), 5 * NANOS_PER_SECOND);
        assert_eq!(rate(u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn two_measurements_agree() {
        let first = ClockSample::now();
        let second = sample_after(&first);
        let third = sample_after(&second);
        let (one, other) = (second.rate_since(&first), third.rate_since(&second));
        assert!(second.since(&first) >= LEAST_SPAN);
        assert!(one.abs_diff(other) < one / 100, "{one} and {other} ticks per second");
        assert!(second.ticks(ClockSource::CpuCounter) > first.ticks(ClockSource::CpuCounter));
    }
}
