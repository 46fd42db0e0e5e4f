//! One provider's data: its buffer, and copies of it that are not checked yet.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use trace_protocol::archive::{self, ClockSample, Closing, Identity};
use trace_protocol::buffer::consumer::{Collector, LiveCopy, RawSave, Rejection, SaveSlot};
use trace_protocol::buffer::header::Layout;

use crate::buffers::SharedBuffer;
use crate::machine::{End, SaveRequest};
use crate::query::ProviderStatistics;
use crate::records::{Records, Spares, Words};
use crate::summary::ProviderSummary;

/// One provider's data.
#[derive(Debug)]
pub(crate) struct ProviderData {
    identity: Identity,
    known_categories: Vec<String>,
    collector: Collector,
    /// The memory that the collector reads.
    _buffer: Arc<SharedBuffer>,
    /// The provider's clock when it joined, in ticks.
    joined_at: u64,
    /// Time from the session's start until it joined.
    joined_after: Duration,
    layout: Layout,
    copies: VecDeque<BufferCopy>,
}

/// The last records of a provider, and its summary.
#[derive(Debug)]
pub(crate) struct FinalRecords {
    pub(crate) records: Records,
    pub(crate) summary: ProviderSummary,
}

/// How a provider left.
#[derive(Debug)]
pub(crate) struct Departure {
    pub(crate) end: End,
    pub(crate) answered_start: bool,
    pub(crate) answered_stop: bool,
    /// Time from the session's start.
    pub(crate) after: Duration,
}

/// A copy of a rolling buffer, and the end of the durable data at that time.
#[derive(Debug)]
struct BufferCopy {
    rolling: Rolling,
    durable_data_end: u64,
}

/// The uncollected contents of a connected provider's buffer at one moment.
#[derive(Debug)]
pub(crate) struct Extract {
    identity: Identity,
    collector: Collector,
    copy: LiveCopy,
    joined_at: u64,
    now: ClockSample,
}

impl Extract {
    /// Returns the records between a section record and the provider's closing records.
    pub(crate) fn into_records(self) -> Records {
        let Self { identity, mut collector, copy, joined_at, now } = self;
        let spares = Spares::default();
        let mut words = Records::begin(&spares, identity.id);
        collector.finish_copy(copy, &mut words);
        let closing = Closing::of(&collector, 0, joined_at, now.ticks(identity.clock));
        closing.write_now(&mut words, &identity, &now);
        let reported = collector.stats().told_losses;
        let words = spares.share(words);
        Records { provider: identity.id, words, slots: Vec::new(), reported, is_last: true }
    }
}

#[derive(Debug)]
enum Rolling {
    Own(RawSave),
    /// In memory that the guard shares.
    Shared(SaveSlot),
}

impl BufferCopy {
    /// Returns its slot, if it is in memory that the guard shares.
    fn into_slot(self) -> Option<SaveSlot> {
        match self.rolling {
            Rolling::Own(_) => None,
            Rolling::Shared(slot) => Some(slot),
        }
    }
}

impl ProviderData {
    pub(crate) fn new(
        identity: Identity,
        known_categories: Vec<String>,
        collector: Collector,
        buffer: Arc<SharedBuffer>,
        joined_at: u64,
        joined_after: Duration,
        layout: Layout,
    ) -> Self {
        Self {
            identity,
            known_categories,
            collector,
            _buffer: buffer,
            joined_at,
            joined_after,
            layout,
            copies: VecDeque::new(),
        }
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

    /// Returns the number of dropped records, as reported by the provider.
    pub(crate) fn dropped(&self) -> u64 {
        self.collector.dropped()
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
        }
    }

    /// Copies a rolling buffer, to `slot` if there is one. After this, the provider may reuse it.
    pub(crate) fn copy(&mut self, request: SaveRequest, slot: Option<SaveSlot>) {
        let SaveRequest { wrapped_count, durable_data_end } = request;
        let rolling = match slot {
            Some(slot) => {
                self.collector.copy_rolling_into(wrapped_count, &slot, self.identity.id);
                Rolling::Shared(slot)
            }
            None => Rolling::Own(self.collector.copy_rolling(wrapped_count)),
        };
        self.copies.push_back(BufferCopy { rolling, durable_data_end });
    }

    /// Returns the number of copies that are not checked yet.
    pub(crate) fn waiting(&self) -> usize {
        self.copies.len()
    }

    /// Returns the records of the oldest copy, if there is one.
    pub(crate) fn sanitize_one(&mut self, spares: &Spares) -> Option<Records> {
        let copy = self.copies.pop_front()?;
        let mut words = Records::begin(spares, self.identity.id);
        let slot = self.sanitize(copy, &mut words);
        Some(self.records(spares.share(words), Vec::from_iter(slot), false))
    }

    /// Appends the well-formed records of a copy. Returns its slot, if it has one.
    fn sanitize(&mut self, copy: BufferCopy, words: &mut Vec<u64>) -> Option<SaveSlot> {
        let reported = self.collector.stats().told_losses;
        self.collector.collect_durable(copy.durable_data_end, words);
        match copy.rolling {
            Rolling::Own(rolling) => {
                self.collector.sanitize(rolling, words);
                None
            }
            Rolling::Shared(slot) => {
                slot.set_told(reported);
                self.collector.sanitize_slot(&slot.reader(), words);
                Some(slot)
            }
        }
    }

    fn records(&self, words: Words, slots: Vec<SaveSlot>, is_last: bool) -> Records {
        let reported = self.collector.stats().told_losses;
        Records { provider: self.identity.id, words, slots, reported, is_last }
    }

    /// Returns the last records and the summary.
    pub(crate) fn finish(mut self, departure: Departure, spares: &Spares) -> FinalRecords {
        let mut words = Records::begin(spares, self.identity.id);
        let mut slots = Vec::new();
        let copies = std::mem::take(&mut self.copies);
        if departure.end.ignores_data() {
            slots.extend(copies.into_iter().filter_map(BufferCopy::into_slot));
            archive::anchor(&mut words, &self.identity, &ClockSample::now());
        } else {
            for copy in copies {
                slots.extend(self.sanitize(copy, &mut words));
            }
            self.collector.finish(&mut words);
            self.close(&mut words);
        }
        let records = self.records(spares.share(words), slots, true);
        FinalRecords { records, summary: self.into_summary(departure) }
    }

    /// Copies the rest of the buffer as if the provider ended now. All copies are checked before
    /// the call.
    pub(crate) fn extract(&self) -> Extract {
        Extract {
            identity: self.identity.clone(),
            copy: self.collector.copy_live(),
            collector: self.collector.clone(),
            joined_at: self.joined_at,
            now: ClockSample::now(),
        }
    }

    /// Appends the provider's closing records.
    fn close(&self, words: &mut Vec<u64>) {
        let now = ClockSample::now();
        let to = now.ticks(self.identity.clock);
        Closing::of(&self.collector, 0, self.joined_at, to).write_now(words, &self.identity, &now);
    }

    fn into_summary(self, departure: Departure) -> ProviderSummary {
        let stats = self.collector.stats();
        let rejected = Rejection::ALL.into_iter().zip(stats.rejected);
        let mut categories = BTreeMap::<String, u64>::new();
        for (name, number) in self.collector.events_by_category() {
            *categories.entry(name.to_owned()).or_default() += number;
        }
        ProviderSummary {
            id: self.identity.id,
            pid: self.identity.pid,
            uid: self.identity.uid,
            name: self.identity.name,
            records: stats.records,
            events: stats.events,
            others: stats.others,
            bytes: 0,
            dropped: if departure.end.ignores_data() { 0 } else { self.collector.dropped() },
            omitted: stats.omissions().collect(),
            rejected: rejected.filter(|(_, number)| *number != 0).collect(),
            categories,
            known_categories: self.known_categories,
            open_scopes: stats.open_scopes(),
            overwritten: stats.overwritten,
            joined_after: self.joined_after,
            left_after: departure.after,
            answered_start: departure.answered_start,
            answered_stop: departure.answered_stop,
            buffer_size: self.layout.total_size() as u64,
            end: departure.end,
        }
    }
}
