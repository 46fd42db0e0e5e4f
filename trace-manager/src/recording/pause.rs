//! A session that stops, and may start again.
//!
//! Providers that have stopped keep their buffers until the session starts again: then their
//! records are collected or cleared, and the providers get new buffers. If the session ends
//! instead, or the manager is killed, all records are collected.

use trace_format::layout::{event, record, EventType, RecordType};
use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::message::{BufferDisposition, ClockSource};

use super::Recording;
use crate::collection::ProviderData;
use crate::machine::ProviderId;
use crate::records::{Records, SECTION};
use crate::retention::{is_metadata, split_records};
use crate::window::Counts;

/// The buffer of a provider when its session starts again.
#[derive(Debug)]
pub(super) struct Renewal {
    disposition: BufferDisposition,
    /// What was collected before.
    counts: Counts,
}

/// The last buffer that a provider has left.
#[derive(Debug)]
pub(super) struct LeftBuffer {
    /// The archive id.
    pub(super) provider: u32,
    /// The end of the recording into it, in the provider's ticks.
    pub(super) until: u64,
}

/// The time between two buffers of a provider, in its ticks.
#[derive(Debug)]
pub(super) struct Gap {
    /// The provider with its next buffer.
    provider: Identity,
    from: u64,
    to: u64,
}

impl Recording {
    /// Notes that a provider does not record into its buffer after `at`, in its ticks.
    pub(crate) fn stopped(&mut self, provider: u32, at: u64) {
        self.ends.entry(provider).or_insert(at);
    }

    /// Notes that a provider has reported its stop, as [`stopped`](Self::stopped) does, for the
    /// guard too.
    pub(crate) fn reported_stop(&mut self, provider: u32, at: u64) {
        self.stopped(provider, at);
        self.outputs.archive.stopped(provider);
    }

    /// Notes that all providers have stopped.
    pub(crate) fn pause(&mut self, now: ClockSample) {
        self.stopped_at = Some(now);
    }

    /// Notes that the session starts again. The buffers of these providers are treated so when they
    /// are collected. All copies are checked before the call.
    pub(crate) fn start_again<'a>(
        &mut self,
        disposition: BufferDisposition,
        providers: impl Iterator<Item = &'a ProviderData>,
    ) {
        let Some(stopped_at) = self.stopped_at.take() else { return };
        self.helpers.start_again();
        for provider in providers {
            if self.renewals.contains_key(&provider.id()) {
                // An earlier start has decided on these records.
                continue;
            }
            self.stopped(provider.id(), stopped_at.ticks(provider.identity().clock));
            let renewal = Renewal { disposition, counts: provider.counts() };
            self.renewals.insert(provider.id(), renewal);
            if disposition != BufferDisposition::Retain {
                let keeps_metadata = disposition == BufferDisposition::ClearNondurable;
                let removed = self.retention.clear(provider.id(), keeps_metadata);
                self.note_progress(provider.id());
                for records in removed {
                    self.outputs.keep(&records);
                }
            }
        }
    }

    /// Returns the time in ticks until which a provider has recorded that is in its buffer, and
    /// that has replied to Stop or has ended.
    pub(crate) fn recorded_until(
        &self,
        provider: u32,
        clock: ClockSource,
        now: &ClockSample,
    ) -> u64 {
        let end = self.ends.get(&provider).copied();
        end.unwrap_or_else(|| self.stopped_at.as_ref().unwrap_or(now).ticks(clock))
    }

    /// Notes that a provider that has left a buffer has the next one from `to` on. The gap is
    /// reported once the last records of the earlier buffer are taken.
    pub(super) fn end_gap(&mut self, earlier: LeftBuffer, provider: &Identity, to: u64) {
        let LeftBuffer { provider: left, until: from } = earlier;
        self.interrupted.insert(provider.id);
        let gap = Gap { provider: provider.clone(), from, to };
        match self.ends.contains_key(&left) {
            true => drop(self.gaps.insert(left, gap)),
            false => self.report_gap(gap),
        }
    }

    /// Notes the last records that a session selects of a provider's buffer. The provider may have
    /// begun them before it stopped, or recorded them while its buffer was read. Later times than
    /// `now` are wrong.
    pub(super) fn recorded(&mut self, id: ProviderId, provider: u32, words: &[u64], now: u64) {
        let after_last = || last_time(words, now).map_or(0, |last| last.saturating_add(1));
        if let Some(gap) = self.gaps.remove(&provider) {
            self.report_gap(Gap { from: gap.from.max(after_last()), ..gap });
        } else if let Some(left) = self.earlier.get_mut(&id).filter(|it| it.provider == provider) {
            left.until = left.until.max(after_last());
        }
    }

    fn report_gap(&mut self, Gap { provider, from, to }: Gap) {
        let mut words = Records::begin(&self.spares, provider.id);
        archive::interruption(&mut words, &provider, from.min(to), to);
        let records = self.block(provider.id, words);
        self.outputs.take(&records);
        // Those that wait for the records before the gap were begun without it.
        self.pending_snapshots.iter_mut().for_each(|it| it.add_late(&records.words));
    }

    /// Returns the last records of a provider that are not cleared, and the counts of those before
    /// if any are. `words` begins with a section record.
    pub(super) fn clear_last(
        &mut self,
        provider: u32,
        mut words: Vec<u64>,
    ) -> (Vec<u64>, Option<Counts>) {
        let Some(Renewal { disposition, counts }) = self.renewals.remove(&provider) else {
            return (words, None);
        };
        match disposition {
            BufferDisposition::Retain => (words, None),
            BufferDisposition::ClearEntire => {
                words.truncate(SECTION);
                (words, Some(counts))
            }
            BufferDisposition::ClearNondurable => {
                let mut kept = words.get(..SECTION).unwrap_or_default().to_vec();
                let records = split_records(&words).filter(|record| is_metadata(record));
                records.for_each(|record| kept.extend_from_slice(record));
                (kept, Some(counts))
            }
        }
    }
}

/// Returns the time of the last event until `now`, in ticks. `words` begins with a section record.
fn last_time(words: &[u64], now: u64) -> Option<u64> {
    let events = split_records(words).filter(|words| {
        words.first().is_some_and(|it| record::Type::get(*it) == RecordType::Event.bits())
    });
    let times = events.filter_map(|words| match words {
        [header, _, .., end]
            if event::EventType::get(*header) == EventType::DurationComplete.bits() =>
        {
            Some(*end)
        }
        [_, at, ..] => Some(*at),
        _ => None,
    });
    times.filter(|at| *at <= now).max()
}
