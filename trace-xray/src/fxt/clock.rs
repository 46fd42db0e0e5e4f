//! The clock of a log: that of the archive's first event.

use std::time::Duration;

use trace_format::{Item, Record, TickRate};

use crate::write::Anchor;

/// The clock of a log, and its last time.
#[derive(Debug, Default)]
pub(super) struct Clock {
    rate: Option<TickRate>,
    anchor: Option<Anchor>,
    /// `None` before the first time.
    last: Option<u64>,
}

impl Clock {
    /// Returns the last time, or `None` before the first one.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Sets the last time to one of an archive.
    pub(super) fn set(&mut self, item: &Item<'_>, ticks: u64) {
        let rate = item.provider.tick_rate();
        self.rate.get_or_insert(rate);
        self.last = Some(self.ticks(rate, ticks));
    }

    /// Keeps the first wall-clock time: that of the last time.
    pub(super) fn anchor(&mut self, time: Duration) {
        let tsc = self.last.unwrap_or_default();
        self.anchor.get_or_insert(Anchor { tsc, time });
    }

    /// Converts the times of a record to ticks of the log's clock. The first one is the last time.
    pub(super) fn convert(&mut self, item: &Item<'_>, record: &mut Record<'_>) {
        if let Some(ticks) = record.times().next().copied() {
            self.set(item, ticks);
        }
        record.times().for_each(|ticks| *ticks = self.ticks(item.provider.tick_rate(), *ticks));
    }

    /// Returns a time in ticks of the log's clock.
    pub(super) fn ticks(&self, rate: TickRate, ticks: u64) -> u64 {
        match self.rate {
            Some(own) if own != rate => {
                let ticks = u128::from(ticks) * u128::from(own.ticks_per_second());
                let ticks = ticks / u128::from(rate.ticks_per_second());
                u64::try_from(ticks).unwrap_or(u64::MAX)
            }
            _ => ticks,
        }
    }

    /// Returns the rate of the log, and its anchor.
    pub(super) fn finish(self) -> (TickRate, Anchor) {
        let anchor = self.anchor.unwrap_or(Anchor { tsc: 0, time: Duration::ZERO });
        (self.rate.unwrap_or_default(), anchor)
    }
}
