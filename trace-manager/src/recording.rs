//! What a session collects: its providers' buffers on one side, its archive on the other.
//!
//! A save has two halves. [`Recording::save`] copies the rolling buffer, after which the provider
//! may be told that it is saved. [`Recording::sanitize_one`] turns the oldest copy into records of
//! the archive; the loop calls it when no provider waits.

mod copies;
mod snapshots;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trace_protocol::archive::{self, ClockSample, Identity};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::Layout;
use trace_protocol::message::ClockSource;

use crate::archive::{ArchiveWriter, Block, Finished, Notes, WriterStatus};
use crate::clock::{counter_rate, sample_after};
use crate::config::SessionConfig;
use crate::finisher::{Finisher, Remains};
use crate::guard::{Account, Joining, Keeper, Mark, Pool};
use crate::machine::ProviderId;
use crate::snapshot::{LastSnapshots, Snapshot, Snapshots};
use crate::summary::{ProviderSummary, Refusal};
use crate::tape::{Departure, Tape};

/// The age beyond which a sample of the clocks is not compared with: the machine may have slept,
/// and with it the counter.
const MAX_AGE: Duration = Duration::from_secs(60);

/// The rate of a provider whose ticks are those of `CLOCK_BOOTTIME`.
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The first refusals that are kept.
const MAX_REFUSALS: usize = 100;

/// The first names of alerts that are kept.
const MAX_ALERTS: usize = 1000;

/// A session's data.
#[derive(Debug)]
pub(crate) struct Recording {
    config: SessionConfig,
    writer: ArchiveWriter,
    finisher: Finisher,
    keeper: Option<Keeper>,
    pool: Option<Pool>,
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
    refusals: u64,
    alerts: BTreeMap<String, u64>,
    /// The alert that stopped the session.
    pub(crate) stopped_by: Option<String>,
    snapshots: Snapshots,
    /// Snapshots that lack what so many providers left behind.
    unfinished: Vec<(usize, Snapshot)>,
    /// Events and losses of the providers that have left.
    events_left: u64,
    lost_left: u64,
}

/// A provider that joins.
#[derive(Debug)]
pub(crate) struct Newcomer<'a> {
    pub(crate) identity: Identity,
    pub(crate) known_categories: Vec<String>,
    /// About whom it may write records.
    pub(crate) policy: IdentityPolicy,
    /// Reads its buffer.
    pub(crate) collector: Collector,
    pub(crate) layout: Layout,
    pub(crate) buffer: BorrowedFd<'a>,
    /// The manager's end of its packet socket.
    pub(crate) packets: BorrowedFd<'a>,
}

/// A session that is over, whose archive may still be written.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) duration: Duration,
    pub(crate) providers: Vec<ProviderSummary>,
    pub(crate) refused: Vec<Refusal>,
    pub(crate) refusals: u64,
    pub(crate) alerts: BTreeMap<String, u64>,
    pub(crate) stopped_by: Option<String>,
    pub(crate) snapshots: LastSnapshots,
    pub(crate) categories: Vec<String>,
    pub(crate) archive: Finished,
}

impl Recording {
    /// Begins an archive.
    ///
    /// `earlier` is a sample from before: if it is not too new, nothing needs to be waited for, and
    /// if it is too old, it is taken anew.
    pub(crate) fn begin(
        config: SessionConfig,
        mut writer: ArchiveWriter,
        finisher: Finisher,
        snapshots: Snapshots,
        keeper: Option<Keeper>,
        earlier: &mut ClockSample,
    ) -> Self {
        let layout = config.layout(0).ok();
        let pool = keeper.clone().map(|keeper| Pool::new(keeper, layout));
        let now = ClockSample::now();
        if now.since(earlier) > MAX_AGE {
            *earlier = now;
        }
        let first = sample_after(earlier);
        let estimate = counter_rate(earlier, &first).unwrap_or(NANOS_PER_SECOND);
        let mut block = Block::default();
        archive::magic(&mut block.words);
        writer.push(block);
        Self {
            config,
            writer,
            finisher,
            keeper,
            pool,
            started: Instant::now(),
            first,
            estimate,
            tapes: BTreeMap::new(),
            waiting: VecDeque::new(),
            last_section: None,
            next_id: 1,
            summaries: Vec::new(),
            refused: Vec::new(),
            refusals: 0,
            alerts: BTreeMap::new(),
            stopped_by: None,
            snapshots,
            unfinished: Vec::new(),
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

    /// Adds a provider. After this it may have its buffer.
    pub(crate) fn join(&mut self, id: ProviderId, newcomer: Newcomer<'_>) {
        let Newcomer { identity, known_categories, policy, collector, layout, buffer, packets } =
            newcomer;
        let now = ClockSample::now();
        let joined_at = now.ticks(identity.clock);
        let joining = Joining { identity: &identity, policy, joined_at, layout, buffer, packets };
        let account = self.keeper.as_ref().and_then(|keeper| keeper.join(&joining));
        let mut block = self.block();
        self.open(&mut block, &identity, &now);
        block.notes.mark = account.as_ref().map(|account| opening_mark(account, &block));
        self.last_section = Some(identity.id);
        let mut tape = Tape::new(identity, known_categories, collector, joined_at, layout, account);
        tape.bytes += block.words.len() as u64 * 8;
        self.writer.push(block);
        self.tapes.insert(id, tape);
    }

    /// Puts what an archive says of a provider before its records into `block`.
    fn open(&self, block: &mut Block, identity: &Identity, now: &ClockSample) {
        match identity.clock {
            ClockSource::Boottime => {
                archive::opening(&mut block.words, identity, NANOS_PER_SECOND, now);
            }
            ClockSource::CpuCounter => {
                let rate = archive::opening(&mut block.words, identity, self.estimate, now);
                block.notes.rate = Some(rate);
            }
        }
    }

    /// Says that a provider cannot take part. Of very many, the first are kept.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.refusals += 1;
        if self.refused.len() < MAX_REFUSALS {
            self.refused.push(refusal);
        }
    }

    /// Counts an alert. Of very many names, the first are kept.
    pub(crate) fn alert(&mut self, name: &str) {
        if let Some(number) = self.alerts.get_mut(name) {
            *number += 1;
        } else if self.alerts.len() < MAX_ALERTS {
            self.alerts.insert(name.to_owned(), 1);
        }
    }

    /// Has all that is left of a provider collected; [`Recording::take_remains`] brings it in.
    pub(crate) fn finish(&mut self, id: ProviderId, departure: Departure) {
        if let Some(tape) = self.tapes.remove(&id) {
            let words = self.writer.spare();
            self.finisher.finish(tape, departure, words);
        }
    }

    /// Adds to the archive what was collected of providers that left.
    pub(crate) fn take_remains(&mut self) {
        while let Some(Remains { words, summary, mark }) = self.finisher.take() {
            for (missing, snapshot) in &mut self.unfinished {
                if let Ok(contents) = &mut snapshot.contents {
                    contents.remains.push(words.clone());
                }
                *missing = missing.saturating_sub(1);
            }
            self.write_snapshots();
            self.last_section = Some(summary.id);
            self.writer.push(Block { words, notes: Notes { rate: None, mark } });
            self.events_left += summary.events;
            self.lost_left = self.lost_left.saturating_add(summary.dropped);
            self.summaries.push(summary);
        }
    }

    /// Tells whether providers have left of which not all is collected.
    pub(crate) fn is_finishing(&self) -> bool {
        self.finisher.outstanding() != 0
    }

    /// Ends the archive. All providers have left, and what they left behind is there.
    pub(crate) fn end(self) -> Recorded {
        let now = ClockSample::now();
        let rate = counter_rate(&self.first, &now).unwrap_or(self.estimate);
        let mut providers = self.summaries;
        providers.sort_by_key(|provider| provider.id);
        Recorded {
            duration: self.started.elapsed(),
            providers,
            refused: self.refused,
            refusals: self.refusals,
            alerts: self.alerts,
            stopped_by: self.stopped_by,
            snapshots: self.snapshots.finish(),
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
        (self.tapes.len(), self.tapes.len() + self.finisher.outstanding() + self.summaries.len())
    }

    /// Returns the number of events collected so far.
    pub(crate) fn events(&self) -> u64 {
        let now: u64 = self.tapes.values().map(|tape| tape.events()).sum();
        self.events_left + now
    }

    /// Returns the number of records dropped so far.
    pub(crate) fn lost(&self) -> u64 {
        let now = self.tapes.values().map(|tape| tape.dropped());
        now.fold(self.lost_left, u64::saturating_add)
    }

    /// Returns what the archive's writer has done so far.
    pub(crate) fn writer_status(&self) -> Arc<WriterStatus> {
        self.writer.status()
    }

    fn block(&self) -> Block {
        Block { words: self.writer.spare(), notes: Notes::default() }
    }
}

/// What the guard is to know when this block, which opens a provider, is written.
fn opening_mark(account: &Account, block: &Block) -> Mark {
    let words = block.words.len();
    account.opening(block.notes.rate.map_or(0, |rate| (words - rate) as u64 * 8))
}
