//! The records of a provider that were not archived when the manager died.

use std::ops::RangeInclusive;

use trace_format::notes::Omission;
use trace_protocol::archive::{self, ClockSample, Closing};
use trace_protocol::buffer::consumer::{Collector, SlotReader, Unreported};
use trace_protocol::message::ClockSource;

use super::state::GuardedProvider;
use crate::ledger::messages::Provider;
use crate::ledger::numbers::provider;
use crate::limited::{Limited, Progress};
use crate::retention::RestLimit;

/// The records of one provider that must be appended to the archive.
pub(super) struct RemainingRecords {
    provider: Provider,
    collector: Collector,
    /// Copies whose records are not archived, in the order of their wrapped counts.
    copies: Vec<SlotReader>,
    /// Whether the opening must be appended too.
    opens: bool,
    /// The losses that the provider's own records in the archive report.
    reported: u64,
    /// The losses that earlier parts of the archive report.
    reported_before: u64,
    /// Losses from before the session whose reports were overwritten.
    overwritten_reports: u64,
    /// The effect of the session's own limit on archived records.
    limited: Limited,
    /// The limit of a oneshot session, for records that are not archived.
    rest: Option<RestLimit>,
    /// Copies, at most, that were in the manager's own memory and are not archived.
    pub(super) missing: u64,
    /// Whether the provider has left its buffer.
    has_left: bool,
    /// Whether the buffer is complete. The time of a stop in its header does not show that: the
    /// provider writes last names and ends of scopes after it.
    is_finished: bool,
}

impl RemainingRecords {
    /// Finds the records of `guarded` and its copies in `slots` that are not in the archive, of
    /// which `written` is the last part.
    pub(super) fn new(
        guarded: GuardedProvider,
        slots: Vec<SlotReader>,
        written: &RangeInclusive<u64>,
    ) -> Option<Self> {
        let opens = !guarded.is_open(written);
        let GuardedProvider { provider, buffer, ledger, has_left, .. } = guarded;
        let mut collector = Collector::new(buffer, provider.layout, provider.policy).ok()?;
        let streams_from = ledger.get(provider::STREAMS_FROM).checked_sub(1);
        let streams_from = streams_from.and_then(|first| u32::try_from(first).ok());
        streams_from.into_iter().for_each(|first| collector.stream_from(first));
        let saved = ledger.get(provider::SAVED).checked_sub(1);
        collector.resume(saved.and_then(|saved| u32::try_from(saved).ok()));
        collector.resume(slots.iter().filter_map(SlotReader::wrapped_count).max());
        let mut copies = slots;
        copies.retain(|slot| !slot.is_archived(*written.end()));
        copies.sort_by_key(SlotReader::wrapped_count);
        let (reported, unshared, limited) = match ledger.get(provider::COPY) <= *written.end() {
            true => {
                (provider::COPY_REPORTED, provider::COPY_UNSHARED_WRITTEN, provider::COPY_LIMITED)
            }
            false => (provider::REPORTED, provider::UNSHARED_WRITTEN, provider::LIMITED),
        };
        let progress = Progress::read(|at| ledger.get(at), limited);
        let first_words = ledger.get(provider::FIRST_WORDS);
        // The collector counts the reports of the others only.
        let rest = (first_words != 0).then(|| RestLimit::resume(&progress, first_words));
        let reported = ledger.get(reported);
        let missing = ledger.get(provider::UNSHARED).saturating_sub(ledger.get(unshared));
        let reported_before = ledger.get(provider::REPORTED_BEFORE);
        let overwritten_reports = ledger.get(provider::OVERWRITTEN_REPORTS);
        let is_finished = has_left || ledger.get(provider::STOPPED) != 0;
        Some(Self {
            provider,
            collector,
            copies,
            opens,
            reported,
            reported_before,
            overwritten_reports,
            limited: progress.limited(),
            rest,
            missing,
            has_left,
            is_finished,
        })
    }

    /// Returns the provider's id, and the time before which its events are not in the archive.
    pub(super) fn selection(&self) -> (u32, u64) {
        let provider = &self.provider;
        let from = provider.dropped_before.map_or(0, |_| provider.joined_at);
        (provider.identity.id, from)
    }

    /// Appends the opening, or a section record. `rate` is that of the CPU's counter.
    pub(super) fn begin(&mut self, rate: u64, words: &mut Vec<u64>) {
        let identity = &self.provider.identity;
        if self.opens {
            let rate = match identity.clock {
                ClockSource::CpuCounter => rate,
                ClockSource::Boottime => 1_000_000_000,
            };
            archive::opening(words, identity, rate, &ClockSample::now());
        } else {
            archive::section(words, identity.id);
        }
        // The durable data is repeated from its start: the following records need it, and a second
        // registration changes nothing.
        self.collector.collect_durable(self.collector.durable_end(), words);
    }

    /// Appends the records of the next copy. Returns false if there is none.
    pub(super) fn next_copy(&mut self, words: &mut Vec<u64>) -> bool {
        if self.copies.is_empty() {
            return false;
        }
        let copy = self.copies.remove(0);
        self.begin_limited(words);
        self.collector.sanitize_slot(&copy, words);
        true
    }

    /// Appends the rest of the buffer.
    pub(super) fn last_records(&mut self, words: &mut Vec<u64>) {
        self.begin_limited(words);
        match self.has_left {
            true => self.collector.finish(words),
            false => self.collector.finish_copy(self.collector.copy_live(), words),
        }
    }

    fn begin_limited(&self, words: &mut Vec<u64>) {
        if self.rest.is_some() {
            archive::section(words, self.provider.identity.id);
        }
    }

    /// Leaves out the records that are beyond the session's own limit.
    pub(super) fn limit(&mut self, words: &mut Vec<u64>) {
        let Some(rest) = &mut self.rest else { return };
        if let Some(kept) = rest.take(words, self.collector.stats().reported_losses) {
            *words = kept;
        }
        self.limited = rest.limited();
    }

    /// Appends the closing records.
    pub(super) fn close(self, words: &mut Vec<u64>) {
        let (now, provider) = (ClockSample::now(), &self.provider.identity);
        let to = now.ticks(provider.clock);
        let mut closing = Closing::of(&self.collector, self.reported, self.provider.joined_at, to);
        if let Some(before) = self.provider.dropped_before {
            let is_earlier = |lost: &Unreported| lost.to < self.provider.joined_at;
            let never: u64 =
                closing.unreported.iter().filter(|it| is_earlier(it)).map(|it| it.number).sum();
            closing.dropped = closing.dropped.saturating_sub(before);
            // Events report losses from before it joined, too: at most all others of them.
            let reported = before.saturating_sub(never).saturating_sub(self.overwritten_reports);
            closing.reported = closing.reported.saturating_sub(reported);
            // It joined a streaming provider: rolling buffers were overwritten before.
            closing.overwritten = 0;
            closing.unreported.retain(|lost| !is_earlier(lost));
        }
        closing.leave_out(self.reported_before);
        self.limited.limit(&mut closing);
        self.limited.write(words, provider);
        for (omission, number) in [
            (Omission::Unfinished, u64::from(!self.is_finished)),
            (Omission::Buffers, self.missing),
        ] {
            if number != 0 {
                archive::omission(words, provider, to, omission, number);
            }
        }
        closing.write_now(words, provider, &now);
    }
}
