//! The last records of a provider in a session.

use trace_format::notes::Omission;

use super::{LastRecords, Recording};
use crate::collection::LastOfSession;
use crate::limited::Limited;
use crate::machine::ProviderId;
use crate::records::{Records, SECTION};
use crate::retention::Last;
use crate::summary::ProviderSummary;
use crate::window::{Closed, Counts};

impl Recording {
    /// Takes the last records of a provider in this session. Returns those of the archive.
    pub(crate) fn take_last(&mut self, id: ProviderId, last: LastRecords) -> Records {
        let LastRecords { id: provider, words, slots, reported, last } = last;
        let LastOfSession { mut closed, mut summary } = last;
        let (words, cleared) = self.clear_last(provider, words);
        let is_limited = self.retention.has(provider);
        let (mut kept, streamed) = self.select_last(provider, words, reported);
        let now = closed.now.ticks(closed.identity.clock);
        let left = self.ends.remove(&provider).unwrap_or(now);
        self.recorded(id, provider, &kept.words, now);
        self.close_conditions(provider, &summary.end, left);
        kept.slots.extend(slots);
        kept.limit(&mut closed, &mut summary);
        let left_out = kept.limited;
        if !is_limited {
            for provider in self.retention.charge(id, kept.words.len()) {
                self.note_progress(provider);
            }
        }
        kept.limited.write(&mut kept.words, &closed.identity);
        let closing = kept.words.len();
        if let Some(omission) = summary.end.omission(!self.joined.is_program(id)) {
            closed.write_omission(&mut kept.words, omission);
            summary.omitted.push((omission, 1));
        }
        // The event is in the archive already.
        if self.interrupted.remove(&provider) {
            summary.omitted.push((Omission::Interruptions, 1));
        }
        closed.write(&mut kept.words);
        let streamed = streamed.map(|mut words| {
            words.extend_from_slice(kept.words.get(closing..).unwrap_or_default());
            self.spares.share(words)
        });
        let words = self.spares.share(kept.words);
        let records =
            Records { provider, words, slots: kept.slots, reported, is_copy: true, is_last: true };
        let words = streamed.unwrap_or_else(|| records.words.clone());
        self.outputs.stream(&Records { words, ..records.clone() });
        let records = self.outputs.keep(&records);
        if let Some(counts) = self.selection.remove(provider).or(cleared) {
            set_counts(&mut summary, counts);
        }
        left_out.subtract(&mut summary);
        summary.bytes = self.outputs.archive.take_bytes(provider);
        let is_heeded = self.config.may_trigger(summary.uid);
        if is_heeded {
            let losses = &mut self.departed.heeded_losses;
            *losses = losses.saturating_add(summary.dropped);
        }
        self.departed.add(id, summary, is_heeded);
        records
    }

    /// Selects the last records, and evaluates conditions over them. They are not copied if the
    /// session gets all of them. Returns those of live streams, too, if these have got the retained
    /// ones already, as the conditions have.
    fn select_last(
        &mut self,
        provider: u32,
        words: Vec<u64>,
        reported: u64,
    ) -> (Last, Option<Vec<u64>>) {
        let is_limited = self.retention.has(provider);
        if !self.selection.has(provider) && !is_limited {
            self.conditions.records(provider, words.get(SECTION..).unwrap_or_default());
            return (Last { words, ..Last::default() }, None);
        }
        let words = self.spares.share(words);
        let records =
            Records { provider, words, slots: Vec::new(), reported, is_copy: true, is_last: true };
        let records = self.selection.select(&records);
        self.conditions.records(provider, records.words());
        let is_streamed = is_limited && self.outputs.followers() > 0;
        let streamed = is_streamed.then(|| records.words.to_vec());
        self.expect_earlier(provider);
        (self.retention.finish(provider, &records.words, reported), streamed)
    }
}

impl Limited {
    /// Takes the records that are left out from the counts of a provider. Its categories keep all
    /// events that the session has selected.
    fn subtract(&self, summary: &mut ProviderSummary) {
        summary.records = summary.records.saturating_sub(self.records);
        summary.events = summary.events.saturating_sub(self.events);
        summary.others = summary.others.saturating_sub(self.others);
    }
}

impl Last {
    /// Adds the session's own limits to the provider's end.
    fn limit(&self, closed: &mut Closed, summary: &mut ProviderSummary) {
        summary.overwritten = summary.overwritten.saturating_add(self.limited.overwritten);
        summary.dropped = summary.dropped.saturating_add(self.limited.dropped());
        self.limited.add_dropped(&mut summary.dropped_by_reason);
        if let Some(closing) = &mut closed.closing {
            self.limited.limit(closing);
        }
    }
}

fn set_counts(summary: &mut ProviderSummary, counts: Counts) {
    let Counts { records, events, others, open_scopes, categories } = counts;
    *summary =
        ProviderSummary { records, events, others, open_scopes, categories, ..summary.clone() };
}
