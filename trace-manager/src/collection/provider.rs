//! One provider's data: its buffer, and copies of it that are not checked yet.

mod end;
mod extract;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use trace_protocol::archive::{ClockSample, Closing, Identity};
use trace_protocol::buffer::consumer::{Collector, EarlierLosses, IdentityPolicy};
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::producer::Streamed;

use super::completeness::Completeness;
use super::copy::{BufferCopy, Check, Rolling, SessionSlots};
use crate::buffers::SharedBuffer;
use crate::ledger::JoinedProvider;
use crate::machine::{ProviderId, SaveRequest, SessionNumber};
use crate::query::ProviderStatistics;
use crate::records::{Records, Spares};
use crate::window::{Base, Counts, Window};

pub(crate) use self::end::{Departure, FinalRecords, LastOfSession};
pub(crate) use self::extract::{Extract, UncountedBuffer};

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
    /// Its rolling buffers when it began to stream while it recorded.
    streamed: Option<Streamed>,
    sessions: BTreeMap<SessionNumber, Window>,
}

/// Collected records of a provider.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) provider: ProviderId,
    pub(crate) records: Records,
    pub(crate) slots: SessionSlots,
    /// Whether the number of overwritten reports of losses is final with these records.
    pub(crate) counts_overwritten: bool,
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
            streamed: None,
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

    /// Notes that the provider of a circular buffer streams: it requests to save the rolling
    /// buffers from `first` on. `current` is the one into which it records.
    pub(crate) fn stream_from(&mut self, first: u32, current: u32) {
        self.layout = self.layout.streaming();
        self.collector.stream_from(first);
        self.streamed = Some(Streamed { first, current });
        if first != 0 {
            self.collector.count_overwritten_reports(current);
        }
    }

    /// Returns how many losses of a base were reported by records that were overwritten before the
    /// provider streamed.
    pub(crate) fn overwritten_reports(&self, base: &Base) -> u64 {
        self.collector.overwritten_reports_of(base.losses())
    }

    /// Returns how many losses there were before a session joined while the provider recorded, and
    /// how many of these were reported by overwritten records.
    pub(crate) fn losses_before(&self, session: SessionNumber) -> Option<(u64, u64)> {
        let base = self.sessions.get(&session)?.base()?;
        Some((base.dropped(), self.overwritten_reports(base)))
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
    /// records that this and earlier parts report. The session holds back records that report
    /// `held_back` losses.
    pub(crate) fn cut(
        &mut self,
        session: SessionNumber,
        now: &ClockSample,
        held_back: u64,
    ) -> Option<(Closing, u64)> {
        let to = now.ticks(self.identity.clock);
        Some(self.sessions.get_mut(&session)?.cut(&self.collector, to, held_back))
    }

    /// Returns the sessions that have the provider.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = SessionNumber> + '_ {
        self.sessions.keys().copied()
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the data of the provider that a sink needs. `base` are its counts so far, if it
    /// records already; `packets` is the manager's end of its packet socket.
    pub(crate) fn joined<'a>(
        &'a self,
        joined_at: u64,
        base: Option<&Base>,
        packets: BorrowedFd<'a>,
    ) -> JoinedProvider<'a> {
        JoinedProvider {
            identity: &self.identity,
            policy: self.policy,
            joined_at,
            dropped_before: base.map(Base::dropped),
            overwritten_reports: base.map_or(0, |base| self.overwritten_reports(base)),
            streams_from: self.streamed.map(|it| it.first),
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

    /// Returns its statistics so far, without bytes of an archive. Its losses are those of a
    /// session.
    pub(crate) fn statistics(&self, session: SessionNumber) -> ProviderStatistics {
        let window = self.sessions.get(&session);
        let durable_size = self.layout.durable_size() as u64;
        ProviderStatistics {
            id: self.identity.id,
            pid: self.identity.pid,
            name: self.identity.name.clone(),
            wrapped_count: self.collector.wrapped_count(),
            dropped: window.map_or_else(Vec::new, |it| it.dropped_by_reason(&self.collector)),
            durable_used: self.collector.durable_end().min(durable_size),
            durable_size,
            buffer_size: self.layout.total_size() as u64,
            events: self.events(),
            bytes: 0,
            answered_start: true,
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
        let next = self.next_unchecked();
        let current = self.collector.wrapped_count();
        let has_records = current == next && self.collector.has_records(current);
        self.completeness.update(now, next, current, has_records)
    }

    /// Returns the wrapped count of the first rolling buffer of which no copy is checked.
    fn next_unchecked(&self) -> u32 {
        let copied = self.collector.last_saved().map_or(0, |last| last.wrapping_add(1));
        copied.wrapping_sub(self.copies.len() as u32)
    }

    /// Returns whether the copies of the rolling buffers that were full when it began to stream are
    /// checked.
    pub(crate) fn has_checked_older(&self) -> bool {
        self.streamed.is_some_and(|it| self.next_unchecked() >= it.current)
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
        let has_counted = self.collector.has_all_overwritten_reports();
        if copy.check(&mut self.collector, &mut checked, words, &mut out) {
            self.check = Some(Check { checked, words: out });
            return None;
        }
        let counts_overwritten = !has_counted && self.collector.has_all_overwritten_reports();
        let slots = self.copies.pop_front().map(BufferCopy::into_slots).unwrap_or_default();
        let reported = self.collector.stats().reported_losses;
        let words = spares.share(out);
        let provider = self.identity.id;
        let records =
            Records { provider, words, slots: Vec::new(), reported, is_copy: true, is_last: false };
        Some(Collected { provider: id, records, slots, counts_overwritten })
    }

    /// Returns whether a part of a copy is checked.
    pub(crate) fn has_begun_check(&self) -> bool {
        self.check.is_some()
    }
}
