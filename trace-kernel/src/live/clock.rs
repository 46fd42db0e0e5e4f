//! The clock of the kernel's events, as ticks of the provider.

use rustix::time::{clock_gettime, ClockId};
use trace_protocol::message::ClockSource;

/// The number of attempts to read two clocks at the same time.
const ATTEMPTS: usize = 5;

/// The least time between two samples of the clocks in nanoseconds, after the first two.
const MIN_SPAN: u64 = 25_000_000;

/// From times of the kernel's events to ticks of the provider.
#[derive(Clone, Copy, Debug)]
pub(super) enum TraceClock {
    /// The kernel's times are ticks of the provider.
    Same,
    /// The kernel's times are nanoseconds of `CLOCK_MONOTONIC_RAW`.
    MonotonicRaw(Calibration),
}

/// Two samples of both clocks: the line between them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calibration {
    earlier: Sample,
    later: Sample,
}

/// The time of both clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    raw: u64,
    ticks: u64,
}

/// Chooses a clock of those that the file `trace_clock` lists. Returns its name and its conversion
/// to ticks.
pub(super) fn choose(available: &str, source: ClockSource) -> (&'static str, TraceClock) {
    let has =
        |name: &str| available.split_whitespace().any(|it| it.trim_matches(['[', ']']) == name);
    match source {
        ClockSource::CpuCounter if has("x86-tsc") => ("x86-tsc", TraceClock::Same),
        ClockSource::Boottime if has("boot") => ("boot", TraceClock::Same),
        _ => ("mono_raw", TraceClock::monotonic_raw()),
    }
}

impl TraceClock {
    /// Returns the conversion of times of `CLOCK_MONOTONIC_RAW`.
    pub(super) fn monotonic_raw() -> Self {
        Self::MonotonicRaw(Calibration::default())
    }

    /// Compares both clocks, for the times until the next call. `ticks` reads the provider's.
    pub(super) fn calibrate(&mut self, ticks: impl Fn() -> u64) {
        let Self::MonotonicRaw(calibration) = self else { return };
        if calibration.is_due(monotonic_raw()) {
            calibration.add(Sample::take(ticks));
        }
    }

    /// Returns the ticks of a kernel's time.
    #[inline]
    pub(super) fn ticks(&self, time: u64) -> u64 {
        match self {
            Self::Same => time,
            Self::MonotonicRaw(calibration) => calibration.ticks(time),
        }
    }
}

impl Calibration {
    /// Returns the line between two samples.
    pub(super) fn between(earlier: Sample, later: Sample) -> Self {
        Self { earlier, later }
    }

    /// Returns whether another sample makes the line better. Rounds follow each other at once if
    /// the kernel writes fast, and the errors of close samples would turn the line.
    fn is_due(&self, raw: u64) -> bool {
        self.earlier == self.later || raw.saturating_sub(self.later.raw) >= MIN_SPAN
    }

    fn add(&mut self, sample: Sample) {
        let is_first = self.later == Sample::default();
        self.earlier = if is_first { sample } else { self.later };
        self.later = sample;
    }

    pub(super) fn ticks(&self, raw: u64) -> u64 {
        let Self { earlier, later } = *self;
        let difference = |later: u64, earlier: u64| i128::from(later) - i128::from(earlier);
        let span = difference(later.raw, earlier.raw).max(1);
        let ticks = difference(later.ticks, earlier.ticks);
        let passed = difference(raw, earlier.raw) * ticks / span;
        (i128::from(earlier.ticks) + passed).try_into().unwrap_or(0)
    }
}

impl Sample {
    /// Returns whether a line to a later sample is exact.
    pub(super) fn is_before(&self, later: &Self) -> bool {
        later.raw.saturating_sub(self.raw) >= MIN_SPAN
    }

    /// Reads both clocks. Takes the shortest of several attempts, which had no interruption.
    pub(super) fn take(ticks: impl Fn() -> u64) -> Self {
        let attempt = |_| {
            let (before, raw, after) = (ticks(), monotonic_raw(), ticks());
            let length = after.saturating_sub(before);
            (length, Self { raw, ticks: before + length / 2 })
        };
        let best = (0..ATTEMPTS).map(attempt).min_by_key(|(length, _)| *length);
        best.map(|(_, sample)| sample).unwrap_or_default()
    }
}

/// Returns the nanoseconds of `CLOCK_MONOTONIC_RAW`.
pub(super) fn monotonic_raw() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "[local] global counter uptime perf mono mono_raw boot tai x86-tsc\n";

    #[test]
    fn samples_of_the_clocks_are_not_close() {
        let mut calibration = Calibration::default();
        let sample = |raw| Sample { raw, ticks: 2 * raw };
        assert!(calibration.is_due(1000));
        calibration.add(sample(1000));
        // A line has two samples.
        assert!(calibration.is_due(1001));
        calibration.add(sample(1001));
        assert_eq!(calibration.ticks(5000), 10_000);
        assert!(!calibration.is_due(1000 + MIN_SPAN));
        assert!(calibration.is_due(1001 + MIN_SPAN));
        calibration.add(sample(1001 + MIN_SPAN));
        assert_eq!(
            (calibration.earlier, calibration.later),
            (sample(1001), sample(1001 + MIN_SPAN))
        );
    }

    #[test]
    fn the_clock_of_the_provider_is_preferred() {
        let chosen = |available: &str, source| {
            let (name, clock) = choose(available, source);
            (name, matches!(clock, TraceClock::Same))
        };
        assert_eq!(chosen(ALL, ClockSource::CpuCounter), ("x86-tsc", true));
        assert_eq!(chosen("[x86-tsc] mono", ClockSource::CpuCounter), ("x86-tsc", true));
        assert_eq!(chosen(ALL, ClockSource::Boottime), ("boot", true));
        assert_eq!(chosen("[local] mono_raw", ClockSource::CpuCounter), ("mono_raw", false));
        assert_eq!(chosen("[local] mono_raw", ClockSource::Boottime), ("mono_raw", false));
    }

    #[test]
    fn times_are_on_the_line_between_two_samples() {
        let earlier = Sample { raw: 1_000, ticks: 50_000 };
        let later = Sample { raw: 2_000, ticks: 53_000 };
        let clock = TraceClock::MonotonicRaw(Calibration { earlier, later });
        let times =
            [(1_000, 50_000), (1_500, 51_500), (2_000, 53_000), (900, 49_700), (2_100, 53_300)];
        for (raw, ticks) in times {
            assert_eq!(clock.ticks(raw), ticks);
        }
        assert_eq!(TraceClock::Same.ticks(7), 7);
    }

    #[test]
    fn calibration_keeps_the_last_two_samples() {
        let mut clock = TraceClock::MonotonicRaw(Calibration::default());
        // A clock with three ticks for each nanosecond.
        let ticks = || monotonic_raw() * 3;
        clock.calibrate(ticks);
        std::thread::sleep(std::time::Duration::from_millis(2));
        clock.calibrate(ticks);
        let now = monotonic_raw();
        // A read of the clock takes less than a millisecond in one of the attempts.
        assert!(clock.ticks(now).abs_diff(now * 3) < 3_000_000);
    }
}
