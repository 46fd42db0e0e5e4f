//! What a session collects: its providers' buffers on one side, its archive on the other.
//!
//! A save has two halves. [`Recording::save`] copies the rolling buffer, after which the provider may
//! be told that it is saved. [`Recording::sanitize_one`] turns the oldest copy into records of the
//! archive; the loop calls it when no provider waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trace_protocol::buffer::consumer::{Collector, RawSave, Rejection};
use trace_protocol::buffer::header::Layout;

use crate::archive::records::{self, Identity, Loss};
use crate::archive::{ArchiveWriter, Block, Finished, WriterStatus};
use crate::clock::{sample_after, ticks_per_second, ClockSample, LEAST_SPAN};
use crate::config::SessionConfig;
use crate::machine::{End, ProviderId, SaveRequest};
use crate::summary::{ProviderSummary, Refusal};

/// Copies of one provider's buffers that may wait to be sanitized.
const MAX_WAITING: usize = 2;

/// The age beyond which a sample of the clocks is not compared with: the machine may have slept, and
/// with it the counter.
const MAX_AGE: Duration = Duration::from_secs(60);

/// The first refusals that are kept.
const MAX_REFUSALS: usize = 100;

/// The last alerts that are kept.
const MAX_ALERTS: usize = 16;

/// A session's data.
#[derive(Debug)]
pub(crate) struct Recording {
    config: SessionConfig,
    writer: ArchiveWriter,
    started: Instant,
    /// The clocks when the session began.
    first: ClockSample,
    /// The counter's rate as measured before the session: what the archive says until its end, and
    /// for ever where it is a pipe.
    estimate: u64,
    tapes: BTreeMap<ProviderId, Tape>,
    /// Whose copy is to be sanitized next, oldest first.
    waiting: VecDeque<ProviderId>,
    /// The provider, by its id in the archive, whose records come last in it.
    last_section: Option<u32>,
    next_id: u32,
    summaries: Vec<ProviderSummary>,
    refused: Vec<Refusal>,
    alerts: VecDeque<String>,
    /// Events and losses of the providers that have left.
    events_left: u64,
    lost_left: u64,
}

/// One provider's data.
#[derive(Debug)]
struct Tape {
    identity: Identity,
    known_categories: Vec<String>,
    collector: Collector,
    joined_at: u64,
    buffer_size: u64,
    bytes: u64,
    saves: VecDeque<(RawSave, u64)>,
}

/// How a provider left.
#[derive(Debug)]
pub(crate) struct Departure {
    pub(crate) end: End,
    pub(crate) answered_start: bool,
    pub(crate) answered_stop: bool,
}

/// A session that is over, whose archive may still be written.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) duration: Duration,
    pub(crate) providers: Vec<ProviderSummary>,
    pub(crate) refused: Vec<Refusal>,
    pub(crate) alerts: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) archive: Finished,
}

impl Recording {
    /// Begins an archive.
    ///
    /// `earlier` is a sample from before: if it is not too new, nothing needs to be waited for, and if
    /// it is too old, it is taken anew.
    pub(crate) fn begin(
        config: SessionConfig,
        mut writer: ArchiveWriter,
        earlier: &mut ClockSample,
    ) -> Self {
        let now = ClockSample::now();
        if now.since(earlier) > MAX_AGE {
            *earlier = now;
        }
        let first = sample_after(earlier);
        let estimate = first.rate_since(earlier);
        writer.push(records::magic());
        Self {
            config,
            writer,
            started: Instant::now(),
            first,
            estimate,
            tapes: BTreeMap::new(),
            waiting: VecDeque::new(),
            last_section: None,
            next_id: 1,
            summaries: Vec::new(),
            refused: Vec::new(),
            alerts: VecDeque::new(),
            events_left: 0,
            lost_left: 0,
        }
    }

    /// Returns what the session was asked to be.
    pub(crate) fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Returns the id in the archive for the next provider.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Adds a provider, whose buffer `collector` reads.
    pub(crate) fn join(
        &mut self,
        id: ProviderId,
        identity: Identity,
        known_categories: Vec<String>,
        collector: Collector,
        layout: &Layout,
    ) {
        let now = ClockSample::now();
        let mut block = self.block();
        let rate = ticks_per_second(identity.clock, self.estimate);
        records::opening(&mut block, &identity, rate, &now);
        self.last_section = Some(identity.id);
        let tape = Tape {
            joined_at: now.ticks(identity.clock),
            buffer_size: layout.total_size() as u64,
            bytes: block.words.len() as u64 * 8,
            saves: VecDeque::new(),
            identity,
            known_categories,
            collector,
        };
        self.writer.push(block);
        self.tapes.insert(id, tape);
    }

    /// Says that a provider cannot take part. Of very many, the first are kept.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        if self.refused.len() < MAX_REFUSALS {
            self.refused.push(refusal);
        }
    }

    /// Keeps an alert's name.
    pub(crate) fn alert(&mut self, name: &str) {
        if self.alerts.len() == MAX_ALERTS {
            self.alerts.pop_front();
        }
        self.alerts.push_back(name.to_owned());
    }

    /// Copies a rolling buffer. After this its provider may write it again.
    pub(crate) fn save(&mut self, id: ProviderId, request: SaveRequest) {
        while self.tapes.get(&id).is_some_and(|tape| tape.saves.len() >= MAX_WAITING) {
            self.sanitize(id);
        }
        if let Some(tape) = self.tapes.get_mut(&id) {
            let copy = tape.collector.copy_rolling(request.wrapped_count);
            tape.saves.push_back((copy, request.durable_data_end));
            self.waiting.push_back(id);
        }
    }

    /// Tells whether a copy waits to be sanitized.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sanitizes the oldest copy, if there is one.
    pub(crate) fn sanitize_one(&mut self) {
        if let Some(id) = self.waiting.pop_front() {
            self.sanitize(id);
        }
    }

    /// Sanitizes the oldest copy of one provider, if it has one.
    fn sanitize(&mut self, id: ProviderId) {
        let copy = self.tapes.get_mut(&id).and_then(|tape| tape.saves.pop_front());
        let Some((copy, durable_end)) = copy else { return };
        let mut block = self.block();
        let Some(tape) = self.tapes.get_mut(&id) else { return };
        let section = section(&mut block, &mut self.last_section, tape.identity.id);
        tape.collector.collect_durable(durable_end, &mut block.words);
        tape.collector.sanitize(copy, &mut block.words);
        self.push(id, block, section);
    }

    /// Collects all that is left of a provider.
    pub(crate) fn finish(&mut self, id: ProviderId, departure: Departure) {
        while self.tapes.get(&id).is_some_and(|tape| !tape.saves.is_empty()) {
            self.sanitize(id);
        }
        let mut block = self.block();
        let Some(tape) = self.tapes.get_mut(&id) else { return };
        let section = section(&mut block, &mut self.last_section, tape.identity.id);
        tape.collector.finish(&mut block.words);
        tape.close(&mut block.words);
        self.push(id, block, section);
        if let Some(tape) = self.tapes.remove(&id) {
            let summary = tape.into_summary(departure);
            self.events_left += summary.events;
            self.lost_left = self.lost_left.saturating_add(summary.dropped);
            self.summaries.push(summary);
        }
    }

    /// Ends the archive. All providers have left.
    pub(crate) fn end(self) -> Recorded {
        let now = ClockSample::now();
        let long = now.since(&self.first) >= LEAST_SPAN;
        let rate = if long { now.rate_since(&self.first) } else { self.estimate };
        let mut providers = self.summaries;
        providers.sort_by_key(|provider| provider.id);
        Recorded {
            duration: self.started.elapsed(),
            providers,
            refused: self.refused,
            alerts: self.alerts.into(),
            categories: self.config.categories,
            archive: self.writer.finish(rate),
        }
    }

    /// Returns how long ago the session began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns how many providers there are, and how many there were.
    pub(crate) fn providers(&self) -> (usize, usize) {
        (self.tapes.len(), self.tapes.len() + self.summaries.len())
    }

    /// Returns the number of events collected so far.
    pub(crate) fn events(&self) -> u64 {
        let now: u64 = self.tapes.values().map(|tape| tape.collector.stats().events).sum();
        self.events_left + now
    }

    /// Returns the number of records dropped so far.
    pub(crate) fn lost(&self) -> u64 {
        let now = self.tapes.values().map(|tape| tape.collector.dropped());
        now.fold(self.lost_left, u64::saturating_add)
    }

    /// Returns what the archive's writer has done so far.
    pub(crate) fn writer_status(&self) -> Arc<WriterStatus> {
        self.writer.status()
    }

    fn block(&self) -> Block {
        Block { words: self.writer.spare(), rates: Vec::new() }
    }

    /// Gives a block to the writer, unless it holds nothing but the section record.
    fn push(&mut self, id: ProviderId, block: Block, section: Section) {
        if block.words.len() <= section.words {
            self.last_section = section.before;
            return;
        }
        if let Some(tape) = self.tapes.get_mut(&id) {
            tape.bytes += block.words.len() as u64 * 8;
        }
        self.writer.push(block);
    }
}

/// What was put before a block, and what to go back to if the block is not used.
struct Section {
    words: usize,
    before: Option<u32>,
}

/// Makes `block` one of the provider `id`.
fn section(block: &mut Block, last: &mut Option<u32>, id: u32) -> Section {
    let before = last.replace(id);
    if before != Some(id) {
        records::section(&mut block.words, id);
    }
    Section { words: block.words.len(), before }
}

impl Tape {
    /// Appends what the archive says of a provider behind its records.
    fn close(&self, words: &mut Vec<u64>) {
        let now = ClockSample::now();
        let dropped = self.collector.dropped();
        let untold = dropped.saturating_sub(self.collector.stats().told_losses);
        if untold != 0 {
            let to = now.ticks(self.identity.clock);
            let loss = Loss { number: untold, from: self.joined_at, to };
            records::loss(words, &self.identity, loss);
        }
        if dropped != 0 {
            records::buffer_full(words, self.identity.id);
        }
        records::anchor(words, &self.identity, &now);
    }

    fn into_summary(self, departure: Departure) -> ProviderSummary {
        let stats = self.collector.stats();
        let rejected = Rejection::ALL.into_iter().zip(stats.rejected);
        let categories = self.collector.events_by_category();
        ProviderSummary {
            id: self.identity.id,
            pid: self.identity.pid,
            uid: self.identity.uid,
            name: self.identity.name,
            records: stats.records,
            events: stats.events,
            bytes: self.bytes,
            dropped: self.collector.dropped(),
            rejected: rejected.filter(|(_, number)| *number != 0).collect(),
            categories: categories.map(|(name, number)| (name.to_owned(), number)).collect(),
            known_categories: self.known_categories,
            open_scopes: stats.open_scopes,
            answered_start: departure.answered_start,
            answered_stop: departure.answered_stop,
            buffer_size: self.buffer_size,
            end: departure.end,
        }
    }
}
