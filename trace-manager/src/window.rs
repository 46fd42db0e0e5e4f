//! The time for which a session has a provider, and the provider's counts in it.

use std::collections::BTreeMap;
use std::time::Duration;

use trace_format::notes::{Omission, Omitted};
use trace_protocol::archive::{ClockSample, Closing, Identity};
use trace_protocol::buffer::consumer::{Collector, EarlierLosses, Rejection, Stats};
use trace_protocol::buffer::producer::LossReason;

/// The time for which a session has a provider.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// The provider's clock at the start, in ticks.
    pub(crate) joined_at: u64,
    /// Time from the session's start until it got the provider.
    pub(crate) joined_after: Duration,
    /// The counts at the start, if the provider recorded before.
    base: Option<Base>,
    /// The results at the last cut of the session's archive.
    cut: Option<Cut>,
}

/// The results of a provider at a cut of the archive.
#[derive(Debug, Clone)]
struct Cut {
    /// The provider's clock, in ticks.
    at: u64,
    dropped: u64,
    /// Lost records that the provider had reported.
    reported: u64,
    refused: u64,
    overwritten: u32,
}

/// The counts of a provider before a session joined it.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    losses: EarlierLosses,
    stats: Stats,
}

/// Counts of records in an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) events: u64,
    pub(crate) others: u64,
    pub(crate) open_scopes: u64,
    pub(crate) categories: BTreeMap<String, u64>,
}

impl Base {
    pub(crate) fn of(collector: &Collector) -> Self {
        Self { losses: collector.losses(), stats: collector.stats().clone() }
    }

    /// Returns the number of dropped records, as reported by the provider.
    pub(crate) fn dropped(&self) -> u64 {
        self.losses.total()
    }

    /// Returns the losses.
    pub(crate) fn losses(&self) -> &EarlierLosses {
        &self.losses
    }
}

impl Window {
    /// The window of a session that has a provider from the start of its buffer.
    pub(crate) fn of_buffer(joined_at: u64, joined_after: Duration) -> Self {
        Self { joined_at, joined_after, base: None, cut: None }
    }

    /// The window of a session that joins while the provider records.
    pub(crate) fn from_base(base: Base, joined_at: u64, joined_after: Duration) -> Self {
        Self { joined_at, joined_after, base: Some(base), cut: None }
    }

    /// Returns the counts at the start, if the provider recorded before.
    pub(crate) fn base(&self) -> Option<&Base> {
        self.base.as_ref()
    }

    /// Returns the number of records dropped in the window.
    pub(crate) fn dropped(&self, collector: &Collector) -> u64 {
        let before = self.base.as_ref().map_or(0, |base| base.losses.total());
        collector.dropped().saturating_sub(before)
    }

    /// Returns the number of rolling buffers that were overwritten in the window.
    pub(crate) fn overwritten(&self, collector: &Collector) -> u32 {
        let before = self.base.as_ref().map_or(0, |base| base.stats.overwritten);
        collector.stats().overwritten.saturating_sub(before)
    }

    /// Returns the number of records dropped in the window by reason, without reasons that did not
    /// occur.
    pub(crate) fn dropped_by_reason(&self, collector: &Collector) -> Vec<(LossReason, u64)> {
        let mut dropped = collector.dropped_by_reason();
        for (reason, number) in &mut dropped {
            let before = self.base.as_ref().map_or(0, |base| base.losses.with_reason(*reason));
            *number = number.saturating_sub(before);
        }
        dropped.retain(|(_, number)| *number != 0);
        dropped
    }

    /// Returns the results at `to`, in the provider's ticks.
    pub(crate) fn closing(&self, collector: &Collector, to: u64) -> Closing {
        let none = EarlierLosses::default();
        let earlier = self.base.as_ref().map_or(&none, |base| &base.losses);
        let mut closing = Closing::behind(collector, earlier, self.joined_at, to);
        if let Some(base) = &self.base {
            for lost in &mut closing.unreported {
                lost.from = lost.from.max(self.joined_at);
                lost.to = lost.to.max(self.joined_at);
            }
            closing.refused = closing.refused.saturating_sub(base.stats.rejections());
        }
        closing.overwritten = self.overwritten(collector);
        closing
    }

    /// Returns the results at `to` that earlier parts of the archive do not have.
    pub(crate) fn closing_of_part(&self, collector: &Collector, to: u64) -> Closing {
        let mut closing = self.closing(collector, to);
        if let Some(cut) = &self.cut {
            closing.leave_out(cut.reported);
            closing.refused = closing.refused.saturating_sub(cut.refused);
            closing.overwritten = closing.overwritten.saturating_sub(cut.overwritten);
            if cut.reported == cut.dropped {
                closing.from = cut.at;
            }
        }
        closing
    }

    /// Ends a part of the archive at `to`. Returns its results, and the number of lost records that
    /// this and earlier parts report. `held_back` losses are reported by records that the session
    /// has taken, and that are in none of these parts.
    ///
    /// A loss that the provider has not reported is in its own later report, or in the results of
    /// the last part. This part has only its number, so that the parts report each loss once.
    pub(crate) fn cut(&mut self, collector: &Collector, to: u64, held_back: u64) -> (Closing, u64) {
        let (mut all, mut part) =
            (self.closing(collector, to), self.closing_of_part(collector, to));
        for closing in [&mut all, &mut part] {
            closing.reported = closing.reported.saturating_sub(held_back);
        }
        let before = self.cut.as_ref().map_or(0, |cut| cut.dropped);
        let reported = all.reported.min(all.dropped);
        let later = (all.dropped - reported).min(all.dropped.saturating_sub(before));
        part.dropped = part.reported.min(part.dropped).saturating_add(later);
        part.reported_later = Some(later);
        self.cut = Some(Cut {
            at: to,
            dropped: all.dropped,
            reported,
            refused: all.refused,
            overwritten: all.overwritten,
        });
        (part, reported)
    }

    pub(crate) fn omitted(&self, collector: &Collector) -> Omitted {
        self.since(collector, |stats| stats.omitted)
    }

    pub(crate) fn rejected(&self, collector: &Collector) -> [u64; Rejection::ALL.len()] {
        self.since(collector, |stats| stats.rejected)
    }

    fn since<const N: usize>(
        &self,
        collector: &Collector,
        of: impl Fn(&Stats) -> [u64; N],
    ) -> [u64; N] {
        let (mut now, before) = (of(collector.stats()), self.base.as_ref().map(|it| of(&it.stats)));
        for (now, before) in now.iter_mut().zip(before.into_iter().flatten()) {
            *now = now.saturating_sub(before);
        }
        now
    }
}

impl Counts {
    /// Returns the counts of all records that were collected from a provider.
    pub(crate) fn of(collector: &Collector) -> Self {
        let stats = collector.stats();
        let mut categories = BTreeMap::<String, u64>::new();
        for (name, number) in collector.events_by_category() {
            *categories.entry(name.to_owned()).or_default() += number;
        }
        Self {
            records: stats.records,
            events: stats.events,
            others: stats.others,
            open_scopes: stats.open_scopes(),
            categories,
        }
    }
}

/// The end of a provider in a session: the data for the closing records.
#[derive(Debug, Clone)]
pub(crate) struct Closed {
    /// `None` if the provider's data is ignored.
    pub(crate) closing: Option<Closing>,
    pub(crate) identity: Identity,
    pub(crate) now: ClockSample,
}

impl Closed {
    /// Appends the report of one missing item.
    pub(crate) fn write_omission(&self, words: &mut Vec<u64>, omission: Omission) {
        let ticks = self.now.ticks(self.identity.clock);
        trace_protocol::archive::omission(words, &self.identity, ticks, omission, 1);
    }

    /// Appends the provider's closing records.
    pub(crate) fn write(&self, words: &mut Vec<u64>) {
        match &self.closing {
            Some(closing) => closing.write_now(words, &self.identity, &self.now),
            None => trace_protocol::archive::anchor(words, &self.identity, &self.now),
        }
    }
}
