//! How a provider ends in its sessions.

use std::collections::BTreeMap;
use std::time::Duration;

use trace_format::notes;
use trace_protocol::archive::ClockSample;
use trace_protocol::buffer::consumer::Rejection;

use super::ProviderData;
use crate::collection::copy::{BufferCopy, Check, SessionSlots};
use crate::machine::{End, ProviderId, SessionNumber};
use crate::records::{Records, Spares};
use crate::summary::ProviderSummary;
use crate::window::{Closed, Window};

/// The last records of a provider, and its end in each session.
#[derive(Debug)]
pub(crate) struct FinalRecords {
    pub(crate) provider: ProviderId,
    /// The archive id.
    pub(crate) id: u32,
    /// A section record, and the records.
    pub(crate) words: Vec<u64>,
    pub(crate) slots: SessionSlots,
    pub(crate) reported: u64,
    pub(crate) sessions: Vec<(SessionNumber, LastOfSession)>,
}

/// The end of a provider in a session.
#[derive(Debug)]
pub(crate) struct LastOfSession {
    pub(crate) closed: Closed,
    /// The summary of all records of the provider, without bytes.
    pub(crate) summary: ProviderSummary,
}

/// How a provider left.
#[derive(Debug, Clone)]
pub(crate) struct Departure {
    pub(crate) end: End,
    pub(crate) answered_start: bool,
    pub(crate) answered_stop: bool,
    /// The time for which each session has run.
    pub(crate) elapsed: BTreeMap<SessionNumber, Duration>,
}

impl ProviderData {
    /// Returns the last records, and the end in each session.
    pub(crate) fn finish(
        mut self,
        provider: ProviderId,
        departure: &Departure,
        spares: &Spares,
    ) -> FinalRecords {
        // Records that are checked belong to the archive in any case.
        let (mut words, mut begun) = match self.check.take() {
            Some(Check { checked, words }) => (words, Some(checked)),
            None => (Records::begin(spares, self.identity.id), None),
        };
        let mut slots = Vec::new();
        let copies = std::mem::take(&mut self.copies);
        if departure.end.ignores_data() {
            slots.extend(copies.into_iter().flat_map(BufferCopy::into_slots));
        } else {
            let collector = &mut self.collector;
            for mut copy in copies {
                let begun = begun.take();
                let mut checked = begun.unwrap_or_else(|| copy.begin(collector, &mut words));
                copy.check(collector, &mut checked, usize::MAX, &mut words);
                slots.extend(copy.into_slots());
            }
            match departure.end.may_record() {
                true => self.collector.finish_copy(self.collector.copy_live(), &mut words),
                false => self.collector.finish(&mut words),
            }
        }
        let reported = self.collector.stats().reported_losses;
        let sessions = std::mem::take(&mut self.sessions);
        let last = |(session, window)| (session, self.last(session, &window, departure));
        let sessions = sessions.into_iter().map(last).collect();
        FinalRecords { provider, id: self.identity.id, words, slots, reported, sessions }
    }

    /// Removes a session while others have the provider. All copies are checked before the call.
    ///
    /// If its buffer may have records of the session, its current ones are appended to `rest`.
    /// Returns its end, and the number of losses that its records report.
    pub(crate) fn leave(
        &mut self,
        session: SessionNumber,
        departure: &Departure,
        rest: Option<&mut Vec<u64>>,
    ) -> Option<(LastOfSession, u64)> {
        let window = self.sessions.remove(&session)?;
        let reported = |it: &Self| it.collector.stats().reported_losses;
        let Some(words) = rest else {
            return Some((self.last(session, &window, departure), reported(self)));
        };
        // The provider's own collector gets these records again for the other sessions.
        let mut read = self.collector.clone();
        read.finish_copy(self.collector.copy_live(), words);
        let collector = std::mem::replace(&mut self.collector, read);
        let (last, reported) = (self.last(session, &window, departure), reported(self));
        self.collector = collector;
        Some((last, reported))
    }

    /// Returns the end in one session.
    fn last(
        &self,
        session: SessionNumber,
        window: &Window,
        departure: &Departure,
    ) -> LastOfSession {
        let now = ClockSample::now();
        let closing = window.closing_of_part(&self.collector, now.ticks(self.identity.clock));
        let closing = Some(closing).filter(|_| !departure.end.ignores_data());
        let dropped = closing.as_ref().map_or(0, |_| window.dropped(&self.collector));
        let left_after = departure.elapsed.get(&session).copied().unwrap_or_default();
        let summary =
            ProviderSummary { dropped, left_after, ..self.summary(window, departure.clone()) };
        LastOfSession { closed: Closed { closing, identity: self.identity.clone(), now }, summary }
    }

    fn summary(&self, window: &Window, departure: Departure) -> ProviderSummary {
        let counts = self.counts();
        let rejected = Rejection::ALL.into_iter().zip(window.rejected(&self.collector));
        ProviderSummary {
            id: self.identity.id,
            pid: self.identity.pid,
            uid: self.identity.uid,
            name: self.identity.name.clone(),
            records: counts.records,
            events: counts.events,
            others: counts.others,
            bytes: 0,
            dropped: 0,
            omitted: notes::omissions(window.omitted(&self.collector)).collect(),
            rejected: rejected.filter(|(_, number)| *number != 0).collect(),
            categories: counts.categories,
            known_categories: self.known_categories.clone(),
            open_scopes: counts.open_scopes,
            overwritten: window.overwritten(&self.collector),
            joined_after: window.joined_after,
            left_after: Duration::ZERO,
            answered_start: departure.answered_start,
            answered_stop: departure.answered_stop,
            buffer_size: self.layout.total_size() as u64,
            wrapped_count: self.collector.wrapped_count(),
            dropped_by_reason: window.dropped_by_reason(&self.collector),
            durable_used: self.collector.durable_end().min(self.layout.durable_size() as u64),
            durable_size: self.layout.durable_size() as u64,
            end: departure.end,
        }
    }
}
