//! The records of an archive that follow those of a provider.

use trace_format::layout::InstantScope;
use trace_format::notes::{self, Omission};
use trace_format::record::{Argument, Value};

use super::{anchor, buffer_full, instant, loss, omission, ClockSample, Identity, Loss};
use crate::buffer::consumer::{Collector, EarlierLosses, Unreported};

/// The results of collecting a provider's records.
#[derive(Debug, Clone)]
pub struct Closing {
    /// The number of lost records in the session.
    pub dropped: u64,
    /// The number of losses that the provider's events report.
    pub reported: u64,
    /// Records that were refused, for any reason.
    pub refused: u64,
    /// Losses that no event reports.
    pub unreported: Vec<Unreported>,
    /// If a later part of the archive reports the losses that no event reports: the number of
    /// those that no earlier part mentions.
    pub reported_later: Option<u64>,
    /// Rolling buffers that were overwritten by younger ones.
    pub overwritten: u32,
    /// When it began, in its ticks.
    pub from: u64,
    /// When it ended, in its ticks.
    pub to: u64,
}

impl Closing {
    /// The name of the event that says that a circular buffer went round.
    pub const OVERWRITTEN: &'static str = notes::OVERWRITTEN;
    /// The reason of losses whose report is in a part of the trace that is missing itself.
    pub const REASON: &'static str = "reason not known: its report is missing";

    /// Returns the results of `collector` for a provider that began at `from` and ended at `to`.
    /// Earlier records report `reported_before` losses.
    pub fn of(collector: &Collector, reported_before: u64, from: u64, to: u64) -> Self {
        let closing = Self::behind(collector, &EarlierLosses::default(), from, to);
        Self { reported: reported_before.saturating_add(closing.reported), ..closing }
    }

    /// Returns the results of `collector` without the losses of `earlier`, for a reader that has a
    /// provider from `from` to `to`.
    pub fn behind(collector: &Collector, earlier: &EarlierLosses, from: u64, to: u64) -> Self {
        Self {
            dropped: collector.dropped().saturating_sub(earlier.total()),
            reported: collector.reported_behind(earlier),
            refused: collector.stats().rejections(),
            unreported: collector.unreported_behind(earlier),
            reported_later: None,
            overwritten: collector.stats().overwritten,
            from,
            to,
        }
    }

    /// Leaves out `reported` losses, which the provider's events in earlier parts of the archive
    /// report.
    pub fn leave_out(&mut self, reported: u64) {
        self.dropped = self.dropped.saturating_sub(reported);
        self.reported = self.reported.saturating_sub(reported);
    }

    /// Appends it: losses that no event reports, and that there were any; refused and overwritten
    /// records. All events together report as many losses as there are.
    pub fn write(&self, words: &mut Vec<u64>, provider: &Identity) {
        if self.reported_later.is_none() {
            self.write_losses(words, provider);
        }
        if self.dropped != 0 {
            buffer_full(words, provider.id);
        }
        if self.refused != 0 {
            omission(words, provider, self.to, Omission::Refused, self.refused);
        }
        if self.overwritten != 0 {
            let arguments = [Argument::new("buffers", Value::Uint32(self.overwritten))];
            instant(words, provider, self.to, Self::OVERWRITTEN, InstantScope::Process, &arguments);
        }
    }

    /// Appends the number of losses that a later part of the archive reports, if there are any.
    pub fn write_reported_later(&self, words: &mut Vec<u64>, provider: &Identity) {
        if let Some(number @ 1..) = self.reported_later {
            omission(words, provider, self.to, Omission::ReportedLater, number);
        }
    }

    /// Appends the losses that no event reports.
    fn write_losses(&self, words: &mut Vec<u64>, provider: &Identity) {
        let mut rest = self.dropped.saturating_sub(self.reported);
        for lost in &self.unreported {
            let number = lost.number.min(rest);
            rest -= number;
            Self::write_loss(words, provider, lost.reason.as_str(), Loss { number, ..lost.into() });
        }
        let unknown = Loss { number: rest, thread: None, from: self.from, to: self.to };
        Self::write_loss(words, provider, Self::REASON, unknown);
    }

    fn write_loss(words: &mut Vec<u64>, provider: &Identity, reason: &str, lost: Loss) {
        if lost.number != 0 {
            loss(words, provider, reason, lost);
        }
    }

    /// [`Closing::write`], and the time on all clocks, of a provider that has just ended.
    pub fn write_now(&self, words: &mut Vec<u64>, provider: &Identity, now: &ClockSample) {
        self.write(words, provider);
        anchor(words, provider, now);
    }
}

impl From<&Unreported> for Loss {
    fn from(lost: &Unreported) -> Self {
        let Unreported { thread, number, from, to, .. } = *lost;
        Self { thread, number, from, to }
    }
}
