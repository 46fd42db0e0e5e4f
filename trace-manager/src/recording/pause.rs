//! A session that stops, and may start again.
//!
//! Providers that have stopped keep their buffers until the session starts again: then their
//! records are collected or cleared, and the providers get new buffers. If the session ends
//! instead, or the manager is killed, all records are collected.

use trace_format::layout::{event, record, EventType, RecordType};
use trace_protocol::archive::ClockSample;
use trace_protocol::message::{BufferDisposition, ClockSource};

use super::{is_metadata, split_records, Recording};
use crate::collection::{Counts, ProviderData};
use crate::machine::ProviderId;
use crate::records::SECTION;

/// The buffer of a provider when its session starts again.
#[derive(Debug)]
pub(super) struct Renewal {
    disposition: BufferDisposition,
    /// What was collected before.
    counts: Counts,
}

impl Recording {
    /// Notes that a provider does not record into its buffer after `at`, in its ticks.
    pub(crate) fn stopped(&mut self, provider: u32, at: u64) {
        self.ends.entry(provider).or_insert(at);
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
                for records in self.retention.clear(provider.id(), keeps_metadata) {
                    self.outputs.take(&records);
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

    /// Notes the last records of a provider that did not reply to Stop. It may have recorded them
    /// while its buffer was read. It gets its next buffer when it has left this one.
    pub(super) fn recorded_silently(&mut self, id: ProviderId, words: &[u64]) {
        if let (Some(until), Some(last)) = (self.earlier.get_mut(&id), last_time(words)) {
            *until = (*until).max(last.saturating_add(1));
        }
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

/// Returns the time of the last event, in ticks. `words` begins with a section record.
fn last_time(words: &[u64]) -> Option<u64> {
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
    times.max()
}
