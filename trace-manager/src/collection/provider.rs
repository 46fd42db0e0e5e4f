//! One provider's data: its buffer, and copies of it that are not checked yet.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use trace_format::notes;
use trace_protocol::archive::{ClockSample, Closing, Identity};
use trace_protocol::buffer::consumer::{
    Collector, EarlierLosses, IdentityPolicy, LiveCopy, Rejection,
};
use trace_protocol::buffer::header::Layout;

use super::completeness::Completeness;
use super::copy::{BufferCopy, Check, Rolling, SessionSlots};
use crate::buffers::SharedBuffer;
use crate::category_filter::CategoryFilter;
use crate::ledger::JoinedProvider;
use crate::limited::Limited;
use crate::machine::{End, ProviderId, SaveRequest, SessionNumber};
use crate::query::ProviderStatistics;
use crate::records::{Records, Spares};
use crate::summary::ProviderSummary;
use crate::window::{Base, Closed, Counts, Window};

/// One provider's data.
#[derive(Debug)]
pub(crate) struct ProviderData {
    identity: Identity,
    known_categories: Vec<String>,
    /// The processes about which it may write records.
    policy: IdentityPolicy,
    collector: Collector,
    /// The memory that the collector reads.
    buffer: Arc<SharedBuffer>,
    layout: Layout,
    copies: VecDeque<BufferCopy>,
    /// The check of the oldest copy, if it has begun.
    check: Option<Check>,
    completeness: Completeness,
    sessions: BTreeMap<SessionNumber, Window>,
}

/// Collected records of a provider.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) provider: ProviderId,
    pub(crate) records: Records,
    pub(crate) slots: SessionSlots,
}

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

/// The uncollected contents of a connected provider's buffer at one moment.
#[derive(Debug)]
pub(crate) struct Extract {
    identity: Identity,
    collector: Collector,
    copy: LiveCopy,
    window: Window,
    now: ClockSample,
    /// The effect of the session's own limit.
    pub(crate) limited: Limited,
}

impl Extract {
    /// Returns the provider's archive id.
    pub(crate) fn id(&self) -> u32 {
        self.identity.id
    }

    /// Returns the records between a section record and the provider's closing records.
    pub(crate) fn into_records(self) -> Records {
        let Self { identity, mut collector, copy, window, now, limited } = self;
        let spares = Spares::default();
        let mut words = Records::begin(&spares, identity.id);
        collector.finish_copy(copy, &mut words);
        let mut closing = window.closing_of_part(&collector, now.ticks(identity.clock));
        limited.limit(&mut closing);
        limited.write(&mut words, &identity);
        closing.write_now(&mut words, &identity, &now);
        let reported = collector.stats().reported_losses;
        let words = spares.share(words);
        Records {
            provider: identity.id,
            words,
            slots: Vec::new(),
            reported,
            is_copy: true,
            is_last: true,
        }
    }
}

/// The buffer of a provider whose events are counted on another thread.
#[derive(Debug)]
pub(crate) struct UncountedBuffer {
    id: u32,
    collector: Collector,
}

impl UncountedBuffer {
    /// Returns the provider's id and the number of its events so far, of which `filter` selects
    /// those of the session. The provider may continue.
    pub(crate) fn count_events(self, filter: &mut CategoryFilter) -> (u32, u64) {
        let Self { id, mut collector } = self;
        let mut words = Vec::new();
        collector.finish_copy(collector.copy_live(), &mut words);
        // Counts them.
        let _selected = filter.select_words(id, &words);
        (id, filter.events(id).unwrap_or_else(|| collector.stats().events))
    }
}

impl ProviderData {
    pub(crate) fn new(
        identity: Identity,
        known_categories: Vec<String>,
        policy: IdentityPolicy,
        collector: Collector,
        buffer: Arc<SharedBuffer>,
        layout: Layout,
    ) -> Self {
        Self {
            identity,
            known_categories,
            policy,
            collector,
            buffer,
            layout,
            copies: VecDeque::new(),
            check: None,
            completeness: Completeness::default(),
            sessions: BTreeMap::new(),
        }
    }

    /// Adds a session that has the provider from the start of its buffer.
    pub(crate) fn open(&mut self, session: SessionNumber, window: Window) {
        self.sessions.insert(session, window);
    }

    /// Returns the counts from which a session counts that joins while the provider records. They
    /// are to be taken before the time from which it has the provider: what is lost in between is
    /// reported.
    pub(crate) fn base(&self) -> Base {
        Base::of(&self.collector)
    }

    /// Returns the losses of a base that the provider has not reported.
    pub(crate) fn unreported(&self, base: &Base) -> EarlierLosses {
        self.collector.unreported_of(base.losses())
    }

    /// Adds a session while the provider records.
    pub(crate) fn open_late(
        &mut self,
        session: SessionNumber,
        base: Base,
        joined_at: u64,
        after: Duration,
    ) {
        self.sessions.insert(session, Window::from_base(base, joined_at, after));
    }

    /// Ends a part of a session's archive. Returns the results of the part, and the number of lost
    /// records that this and earlier parts report.
    pub(crate) fn cut(
        &mut self,
        session: SessionNumber,
        now: &ClockSample,
    ) -> Option<(Closing, u64)> {
        let to = now.ticks(self.identity.clock);
        Some(self.sessions.get_mut(&session)?.cut(&self.collector, to))
    }

    /// Returns the sessions that have the provider.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = SessionNumber> + '_ {
        self.sessions.keys().copied()
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the data of the provider that a sink needs. `dropped_before` is the number of
    /// records that it had dropped before, if it records already; `packets` is the manager's end of
    /// its packet socket.
    pub(crate) fn joined<'a>(
        &'a self,
        joined_at: u64,
        dropped_before: Option<u64>,
        packets: BorrowedFd<'a>,
    ) -> JoinedProvider<'a> {
        JoinedProvider {
            identity: &self.identity,
            policy: self.policy,
            joined_at,
            dropped_before,
            reported_before: self.collector.stats().reported_losses,
            layout: self.layout,
            buffer: &self.buffer,
            packets,
        }
    }

    /// Returns the durable records that were collected so far.
    pub(crate) fn durable_records(&self) -> Vec<u64> {
        let mut words = Vec::new();
        self.collector.collect_durable_again(self.policy, &mut words);
        words
    }

    /// Returns the counts of all collected records.
    pub(crate) fn counts(&self) -> Counts {
        Counts::of(&self.collector)
    }

    /// Returns the time after which the provider has begun no record for a session, if it has
    /// stopped. Both times are in its ticks. A claim outside of the time that the session has it
    /// is ignored.
    pub(crate) fn stopped_at(&self, session: SessionNumber, now: u64) -> Option<u64> {
        let joined_at = self.sessions.get(&session)?.joined_at;
        self.collector.stopped_at().filter(|at| (joined_at..=now).contains(at))
    }

    /// Returns the last wrapped count that was copied.
    pub(crate) fn last_saved(&self) -> Option<u32> {
        self.collector.last_saved()
    }

    /// Returns the buffer's layout.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the provider's id in the archive.
    pub(crate) fn id(&self) -> u32 {
        self.identity.id
    }

    /// Returns the number of events collected so far.
    pub(crate) fn events(&self) -> u64 {
        self.collector.stats().events
    }

    /// Returns the number of records dropped while a session has the provider.
    pub(crate) fn dropped(&self, session: SessionNumber) -> u64 {
        self.sessions.get(&session).map_or(0, |window| window.dropped(&self.collector))
    }

    /// Returns its statistics so far, without bytes of an archive.
    pub(crate) fn statistics(&self) -> ProviderStatistics {
        let durable_size = self.layout.durable_size() as u64;
        ProviderStatistics {
            id: self.identity.id,
            pid: self.identity.pid,
            name: self.identity.name.clone(),
            wrapped_count: self.collector.wrapped_count(),
            dropped: self.collector.dropped_by_reason(),
            durable_used: self.collector.durable_end().min(durable_size),
            durable_size,
            buffer_size: self.layout.total_size() as u64,
            events: self.events(),
            bytes: 0,
            end: None,
        }
    }

    /// Copies a rolling buffer, to each of `slots` if there are any. After this, the provider may
    /// reuse it.
    pub(crate) fn copy(&mut self, request: SaveRequest, slots: SessionSlots) {
        let SaveRequest { wrapped_count, durable_data_end } = request;
        for (_, slot) in &slots {
            self.collector.copy_rolling_into(wrapped_count, slot, self.identity.id);
        }
        let rolling = match slots.is_empty() {
            true => Rolling::Own(self.collector.copy_rolling(wrapped_count)),
            false => Rolling::Shared(slots),
        };
        self.copies.push_back(BufferCopy { rolling, durable_data_end });
    }

    /// Returns the time before which all its records are passed on. Both times are in its ticks.
    pub(crate) fn complete_until(&mut self, now: u64) -> u64 {
        let copied = self.collector.last_saved().map_or(0, |last| last.wrapping_add(1));
        let next = copied.wrapping_sub(self.copies.len() as u32);
        let current = self.collector.wrapped_count();
        let has_records = current == next && self.collector.has_records(current);
        self.completeness.update(now, next, current, has_records)
    }

    /// Returns the number of copies that are not checked yet.
    pub(crate) fn waiting(&self) -> usize {
        self.copies.len()
    }

    /// Checks the next `words` words of the oldest copy, if there is one, or a chunk more. Returns
    /// its records if that was all of it.
    pub(crate) fn sanitize_part(
        &mut self,
        id: ProviderId,
        words: usize,
        spares: &Spares,
    ) -> Option<Collected> {
        let copy = self.copies.front_mut()?;
        let Check { mut checked, words: mut out } = self.check.take().unwrap_or_else(|| {
            let mut words = Records::begin(spares, self.identity.id);
            Check { checked: copy.begin(&mut self.collector, &mut words), words }
        });
        if copy.check(&mut self.collector, &mut checked, words, &mut out) {
            self.check = Some(Check { checked, words: out });
            return None;
        }
        let slots = self.copies.pop_front().map(BufferCopy::into_slots).unwrap_or_default();
        let reported = self.collector.stats().reported_losses;
        let words = spares.share(out);
        let provider = self.identity.id;
        let records =
            Records { provider, words, slots: Vec::new(), reported, is_copy: true, is_last: false };
        Some(Collected { provider: id, records, slots })
    }

    /// Returns whether a part of a copy is checked.
    pub(crate) fn has_begun_check(&self) -> bool {
        self.check.is_some()
    }

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

    /// Removes a session while the provider continues. All copies are checked before the call.
    ///
    /// If the provider did not reply, the current records of its buffer are appended to `words`.
    pub(crate) fn leave(
        &mut self,
        session: SessionNumber,
        departure: &Departure,
        words: &mut Vec<u64>,
    ) -> Option<LastOfSession> {
        let window = self.sessions.remove(&session)?;
        if departure.end != End::TimedOut {
            return Some(self.last(session, &window, departure));
        }
        // The provider's own collector gets these records again for the other sessions.
        let mut read = self.collector.clone();
        read.finish_copy(self.collector.copy_live(), words);
        let collector = std::mem::replace(&mut self.collector, read);
        let last = self.last(session, &window, departure);
        self.collector = collector;
        Some(last)
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

    /// Copies the rest of the buffer for a session as if the provider ended now. All copies are
    /// checked before the call.
    pub(crate) fn extract(&self, session: SessionNumber) -> Option<Extract> {
        Some(Extract {
            identity: self.identity.clone(),
            copy: self.collector.copy_live(),
            collector: self.collector.clone(),
            window: self.sessions.get(&session)?.clone(),
            now: ClockSample::now(),
            limited: Limited::default(),
        })
    }

    /// Returns the buffer for a count on another thread.
    pub(crate) fn uncounted(&self) -> UncountedBuffer {
        UncountedBuffer { id: self.identity.id, collector: self.collector.clone() }
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
            overwritten: self.collector.stats().overwritten,
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
