//! The duration of a cycle of the core.

use super::timing::Timing;

/// The fraction of a tick in which the duration of a cycle is counted, as a power of two.
const FRACTION_BITS: u32 = 8;

/// The number of bits of a time stamp.
const TSC_BITS: u32 = 56;

/// A duration in 2^-[`FRACTION_BITS`] ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length(u64);

impl Length {
    /// Returns the duration of one of so many cycles, or `None` if it is too short or too long.
    fn of_each(ticks: u64, cycles: u64) -> Option<Self> {
        let ticks = ticks.checked_mul(1 << FRACTION_BITS)?;
        ticks.checked_div(cycles).map(Self)
    }

    /// Returns the ticks of so many cycles.
    pub(super) fn ticks_of(self, cycles: u64) -> u64 {
        let ticks = (u128::from(cycles) * u128::from(self.0)) >> FRACTION_BITS;
        ticks.try_into().unwrap_or(u64::MAX)
    }

    /// Returns the cycles in so many ticks.
    pub(super) fn cycles_in(self, ticks: u64) -> u64 {
        let ticks = u128::from(ticks) << FRACTION_BITS;
        ticks.checked_div(self.0.into()).and_then(|it| it.try_into().ok()).unwrap_or(u64::MAX)
    }
}

/// Measures the cycles between packets that have the time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Calibration {
    cycle: Option<Length>,
    /// The last time stamp, and the cycles since then.
    time_stamp: Option<u64>,
    since_time_stamp: u64,
    /// The last MTC packet, and the cycles since then.
    crystal: Option<u32>,
    since_crystal: u64,
}

impl Calibration {
    /// Returns the duration of a cycle, if it is known.
    pub(super) fn cycle(&self) -> Option<Length> {
        self.cycle.filter(|length| length.0 != 0)
    }

    /// Only the time stamps of PSB+ end a period: others may follow a time that is lost.
    pub(super) fn time_stamp(&mut self, ticks: u64, is_in_boundary: bool) {
        let former = self.time_stamp.replace(ticks);
        let cycles = std::mem::take(&mut self.since_time_stamp);
        // MTC packets are better.
        let (Some(former), true, None) = (former, is_in_boundary, self.crystal) else { return };
        let wrap = if ticks < former { 1 << TSC_BITS } else { 0 };
        let ticks = (ticks + wrap).saturating_sub(former);
        if let Some(length) = Length::of_each(ticks, cycles) {
            self.cycle = Some(length);
        }
    }

    pub(super) fn crystal(&mut self, value: u8, timing: &Timing) {
        let now = timing.of_mtc(value);
        let Some(former) = self.crystal else {
            (self.crystal, self.since_crystal) = (Some(now), 0);
            return;
        };
        if self.since_crystal == 0 {
            // The period is joined with the next one.
            return;
        }
        self.crystal = Some(now);
        let cycles = std::mem::take(&mut self.since_crystal);
        let ticks = timing.ticks(timing.between(former, now));
        if let Some(length) = ticks.and_then(|ticks| Length::of_each(ticks, cycles)) {
            self.cycle = Some(length);
        }
    }

    pub(super) fn core_ratio(&mut self, ratio: u8, timing: &Timing) {
        let nominal = timing.nominal.filter(|nominal| *nominal != 0);
        let length = nominal.and_then(|nominal| Length::of_each(nominal.into(), ratio.into()));
        self.cycle = length.or(self.cycle);
    }

    pub(super) fn cycles(&mut self, cycles: u64) {
        self.since_time_stamp = self.since_time_stamp.saturating_add(cycles);
        self.since_crystal = self.since_crystal.saturating_add(cycles);
    }
}
