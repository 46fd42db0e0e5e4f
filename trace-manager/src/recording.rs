//! The data of a session: its share of the collected records, and its sinks.

mod categories;
mod conditions;
mod departed;
mod following;
mod helpers;
mod joined;
mod last;
mod pause;
mod progress;
mod refusals;
mod rotation;
mod sinks;
mod snapshots;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use trace_protocol::archive::ClockSample;
use trace_protocol::buffer::consumer::{EarlierLosses, SaveSlot};
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::socket::PeerCredentials;

use crate::buffers::{Buffers, NoMemory, Share};
use crate::category_filter::CategoryFilter;
use crate::clock::{counter_rate, sample_after};
use crate::collection::{LastOfSession, ProviderData};
use crate::config::SessionConfig;
use crate::ledger::JoinedProvider;
use crate::machine::{ProviderId, SessionNumber};
use crate::records::{Records, Spares};
use crate::retention::Retention;
use crate::sink::{Finish, Opening};
use crate::snapshot::{FinishingSnapshots, Snapshots};
use crate::summary::{ProviderSummary, Refusal};
use crate::trigger::{Cause, Evaluator};

use departed::Departed;
use helpers::Helpers;
use joined::Joined;
use pause::{Gap, LeftBuffer, Renewal};
use refusals::Refusals;
pub(crate) use rotation::RotationStep;
use rotation::Rotator;
pub(crate) use sinks::Sinks;
use snapshots::PendingSnapshot;
pub(crate) use snapshots::Uncounted;

/// The largest age of a clock sample that is compared with another one. Over a longer time, the
/// machine may have slept and stopped the counter.
const MAX_SAMPLE_AGE: Duration = Duration::from_secs(60);

/// The rate of the CPU's counter if it cannot be measured.
const DEFAULT_RATE: u64 = 1_000_000_000;

/// The number of alert names that are kept.
const MAX_ALERTS: usize = 1000;

/// The data of a session.
#[derive(Debug)]
pub(crate) struct Recording {
    number: SessionNumber,
    config: SessionConfig,
    /// The categories of the session and of all its sinks.
    categories: Vec<String>,
    /// Selects the session's records if its providers record more.
    selection: CategoryFilter,
    retention: Retention,
    /// When the archive is cut, if it is.
    rotator: Option<Rotator>,
    /// The last flush for followers.
    flushed_at: Duration,
    outputs: Sinks,
    spares: Spares,
    started: Instant,
    /// The clocks at the start of the session.
    start_clocks: ClockSample,
    /// The counter's rate as measured before the session. The archive has it until the end, and a
    /// pipe has it forever.
    estimated_rate: u64,
    /// Providers whose last records are outstanding.
    finishing: usize,
    joined: Joined,
    /// What connections recorded into the buffers that they have left.
    departed: Departed,
    /// The last buffer that each connection has left.
    earlier: BTreeMap<ProviderId, LeftBuffer>,
    /// The gaps after buffers whose last records are outstanding, by archive id.
    gaps: BTreeMap<u32, Gap>,
    /// The ends of the buffers of providers that have stopped or left, by archive id, in their
    /// ticks. Their last records may be outstanding.
    ends: BTreeMap<u32, u64>,
    /// When the last provider stopped, if the session is stopped and may start again.
    stopped_at: Option<ClockSample>,
    /// The buffers that are not collected since the session has started again, by archive id.
    renewals: BTreeMap<u32, Renewal>,
    /// The archive ids of the providers that were interrupted before.
    interrupted: BTreeSet<u32>,
    refusals: Refusals,
    helpers: Helpers,
    alerts: BTreeMap<String, u64>,
    /// The conditions of triggers.
    conditions: Evaluator,
    /// The number of times that each condition began to hold, by its text.
    held: BTreeMap<String, u64>,
    /// The cause of the session's end, if it is a trigger.
    pub(crate) stopped_by: Option<Cause>,
    /// The last check of the conditions that depend on time and losses.
    checked_at: Duration,
    snapshots: Snapshots,
    /// Snapshots that are not complete.
    pending_snapshots: Vec<PendingSnapshot>,
}

/// A provider that a session gets.
#[derive(Debug)]
pub(crate) struct Opened<'a> {
    pub(crate) id: ProviderId,
    /// Whether it is a helper of a session, which does not count among the programs.
    pub(crate) is_helper: bool,
    pub(crate) joined: JoinedProvider<'a>,
    pub(crate) now: ClockSample,
    /// The categories that it records.
    pub(crate) recorded: &'a [String],
    /// `None` if the session has it from the start of its buffer.
    pub(crate) late: Option<LateOpening<'a>>,
}

/// The state of a provider that a session gets while it records.
#[derive(Debug)]
pub(crate) struct LateOpening<'a> {
    /// Its durable records so far.
    pub(crate) durable: &'a [u64],
    /// The last wrapped count that was copied.
    pub(crate) last_saved: Option<u32>,
    /// Its losses that it has not reported.
    pub(crate) unreported: EarlierLosses,
}

/// The last records of a provider in one session.
#[derive(Debug)]
pub(crate) struct LastRecords {
    /// The archive id.
    pub(crate) id: u32,
    /// A section record, and the records.
    pub(crate) words: Vec<u64>,
    pub(crate) slots: Vec<SaveSlot>,
    pub(crate) reported: u64,
    pub(crate) last: LastOfSession,
}

/// An ended session, whose archive may still be written.
#[derive(Debug)]
pub(crate) struct EndedRecording {
    pub(crate) duration: Duration,
    pub(crate) providers: Vec<ProviderSummary>,
    pub(crate) refused: Vec<Refusal>,
    pub(crate) refusals: u64,
    pub(crate) alerts: BTreeMap<String, u64>,
    pub(crate) conditions: BTreeMap<String, u64>,
    pub(crate) unknown_conditions: Vec<String>,
    pub(crate) stopped_by: Option<Cause>,
    pub(crate) incomplete_conditions: Vec<String>,
    pub(crate) late_conditions: Vec<String>,
    pub(crate) snapshots: FinishingSnapshots,
    pub(crate) categories: Vec<String>,
    pub(crate) archive: Finish,
    pub(crate) sinks: Vec<Finish>,
    /// Why the guard would not have completed the archive.
    pub(crate) guard_failure: Option<String>,
}

impl Recording {
    /// Starts a session.
    ///
    /// `earlier` is a sample from before the session. If it is too new, this waits; if it is too
    /// old, it is replaced.
    pub(crate) fn begin(
        number: SessionNumber,
        config: SessionConfig,
        outputs: Sinks,
        snapshots: Snapshots,
        spares: Spares,
        earlier: &mut ClockSample,
    ) -> Self {
        let now = ClockSample::now();
        if now.since(earlier) > MAX_SAMPLE_AGE {
            *earlier = now;
        }
        let start_clocks = sample_after(earlier);
        let categories = outputs.categories().to_vec();
        let conditions = Evaluator::new(&config.rules, SystemTime::now());
        let interrupted_at = config.interrupted_at;
        let mut recording = Self {
            number,
            selection: CategoryFilter::new(&categories, spares.clone()),
            retention: Retention::new(config.mode, config.buffer_size, spares.clone()),
            flushed_at: Duration::ZERO,
            rotator: config.rotation.map(Rotator::new),
            config,
            categories,
            outputs,
            spares,
            started: Instant::now(),
            start_clocks,
            estimated_rate: counter_rate(earlier, &start_clocks).unwrap_or(DEFAULT_RATE),
            finishing: 0,
            joined: Joined::default(),
            departed: Departed::default(),
            earlier: BTreeMap::new(),
            gaps: BTreeMap::new(),
            ends: BTreeMap::new(),
            stopped_at: None,
            renewals: BTreeMap::new(),
            interrupted: BTreeSet::new(),
            refusals: Refusals::default(),
            helpers: Helpers::default(),
            alerts: BTreeMap::new(),
            conditions,
            held: BTreeMap::new(),
            checked_at: Duration::ZERO,
            stopped_by: None,
            snapshots,
            pending_snapshots: Vec::new(),
        };
        interrupted_at.into_iter().for_each(|at| recording.report_interruption(at));
        recording
    }

    /// Returns the session's configuration.
    pub(crate) fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Returns the bytes of the records that the session retains of a provider whose buffer has the
    /// mode `mode`, if it retains any.
    pub(crate) fn retained_size(&self, mode: BufferingMode) -> Option<u64> {
        self.retention.size(mode)
    }

    /// Reserves memory for the records that the session retains of a provider whose buffer has the
    /// mode `mode`. If there is none, the session refuses the provider.
    pub(crate) fn reserve(
        &mut self,
        id: ProviderId,
        mode: BufferingMode,
        buffers: &Buffers,
        peer: PeerCredentials,
        name: &str,
    ) -> Result<Option<Share>, NoMemory> {
        let size = self.retained_size(mode);
        let reserved = size.map(|size| buffers.take(peer, size)).transpose();
        if let Err(no_memory) = &reserved {
            let (name, reason) = (name.to_owned(), no_memory.to_string());
            self.refuse_for_memory(id, peer.uid, Refusal { pid: peer.pid, name, reason });
        }
        reserved
    }

    /// Adds a provider: when it gets its buffer, or while it records for other sessions. `memory`
    /// is that of [`reserve`](Self::reserve).
    pub(crate) fn join(&mut self, opened: &Opened<'_>, memory: Option<Share>) {
        let Opened { id, is_helper, joined, now, recorded, late } = opened;
        let (provider, mode) = (joined.identity.id, joined.layout.mode());
        self.joined.join(*id, *is_helper);
        if *is_helper {
            self.helpers.join(*id);
        }
        self.withdraw_refusal(*id);
        let earlier = self.earlier.remove(id);
        let name = &joined.identity.name;
        let opening = Opening { joined: *joined, now: *now, counter_rate: self.estimated_rate };
        let is_live = mode == BufferingMode::Streaming;
        if self.config.may_trigger(joined.identity.uid) {
            self.conditions.open(provider, opening.ticks_per_second(), is_live);
        }
        self.outputs.open(&opening, &self.config.categories_for(name, &self.config.categories));
        // The reports of some are overwritten.
        let dropped_before = joined.dropped_before.unwrap_or(0);
        let reported_before = dropped_before.saturating_sub(joined.overwritten_reports);
        self.limit(*id, provider, mode, reported_before, memory);
        let own = self.config.categories_for(&joined.identity.name, &self.categories);
        if late.is_some() || **recorded != *own {
            let from = if late.is_some() { joined.joined_at } else { 0 };
            self.selection.add_with(provider, from, &own);
        }
        if let Some(late) = late {
            self.selection.leave_out(provider, late.unreported.clone());
        }
        if let Some(earlier) = earlier {
            self.end_gap(earlier, joined.identity, joined.joined_at);
        }
        if let Some(late) = late {
            self.outputs.archive.resume(provider, late.last_saved);
            let mut words = Records::begin(&self.spares, provider);
            words.extend_from_slice(late.durable);
            self.take(self.block(provider, words));
        }
    }

    /// Corrects how many of the losses from before the session, of which there are `dropped`, were
    /// reported by overwritten records. Called before the first records that report any.
    pub(crate) fn correct_reports(&mut self, provider: u32, dropped: u64, overwritten: u64) {
        self.outputs.archive.correct_reports(provider, overwritten);
        self.retention.correct_reports(provider, dropped.saturating_sub(overwritten));
    }

    /// Notes that a provider with a circular buffer streams, from the rolling buffer `first` on.
    /// The session retains its records in `memory`. `provider` is its archive id.
    pub(crate) fn stream(
        &mut self,
        id: ProviderId,
        provider: u32,
        first: u32,
        memory: Option<Share>,
    ) {
        self.outputs.archive.stream(provider, first);
        self.limit(id, provider, BufferingMode::Streaming, 0, memory);
    }

    /// Limits the records of a provider whose buffer has the mode `mode`, if the buffer does not.
    fn limit(
        &mut self,
        id: ProviderId,
        provider: u32,
        mode: BufferingMode,
        reported_before: u64,
        memory: Option<Share>,
    ) {
        self.retention.add(id, provider, mode, reported_before, memory);
        if let Some(progress) = self.retention.progress(provider) {
            let first_words = self.retention.first_words(provider);
            self.outputs.archive.limit(provider, first_words, progress);
        }
    }

    /// Notes that the records of a provider from before it streamed are passed on. Conditions that
    /// those fulfill are late.
    pub(crate) fn begin_live(&mut self, provider: u32) {
        self.conditions.stream(provider);
    }

    /// Returns whether conditions over the records of a provider are not late.
    #[cfg(test)]
    pub(crate) fn is_live(&self, provider: u32) -> bool {
        self.conditions.is_live(provider)
    }

    /// Returns records that are not from a copy of a rolling buffer.
    fn block(&self, provider: u32, words: Vec<u64>) -> Records {
        let words = self.spares.share(words);
        Records { provider, words, slots: Vec::new(), reported: 0, is_copy: false, is_last: false }
    }

    /// Notes that a provider records more categories, for other sessions. `durable` are its
    /// durable records so far.
    pub(crate) fn widen(&mut self, provider: &ProviderData, recorded: &[String], durable: &[u64]) {
        let id = provider.id();
        let own = self.config.categories_for(&provider.identity().name, &self.categories);
        if recorded != own && !self.selection.has(id) {
            self.selection.add_late(id, &own, durable, provider.counts());
        }
    }

    /// Counts an alert. Only the first names are kept.
    pub(crate) fn alert(&mut self, name: &str) {
        if let Some(number) = self.alerts.get_mut(name) {
            *number += 1;
        } else if self.alerts.len() < MAX_ALERTS {
            self.alerts.insert(name.to_owned(), 1);
        }
    }

    /// Returns memory, shared with the guard, for a copy of a provider's rolling buffer. Returns
    /// `None` if there is no guard, or it does not have the provider.
    pub(crate) fn allocate_slot(
        &mut self,
        provider: u32,
        layout: &Layout,
        providers: usize,
    ) -> Option<SaveSlot> {
        self.outputs.archive.allocate_slot(provider, layout, providers)
    }

    /// Notes that a rolling buffer was copied, before its provider gets the reply. `shared` is
    /// whether the guard can read the copy.
    pub(crate) fn copied(&self, provider: u32, wrapped_count: u32, shared: bool) {
        self.outputs.archive.copied(provider, wrapped_count, shared);
    }

    /// Takes collected records of a provider.
    pub(crate) fn take(&mut self, records: Records) {
        let selected = self.selection.select(&records);
        self.conditions.records(selected.provider, selected.words());
        self.outputs.stream(&selected);
        let provider = selected.provider;
        self.expect_earlier(provider);
        let kept = self.retention.accept(selected);
        self.note_progress(provider);
        for records in kept {
            self.outputs.keep(&records);
        }
    }

    /// Tells the guard how far the session has come with its own limit to a provider's records.
    fn note_progress(&mut self, provider: u32) {
        if let Some(progress) = self.retention.progress(provider) {
            self.outputs.archive.set_progress(provider, progress);
        }
    }

    /// Has the next records of a provider limited without the losses from before the session.
    fn expect_earlier(&mut self, provider: u32) {
        self.retention.expect_earlier(provider, self.selection.earlier(provider));
    }

    /// Notes that a provider has left its buffer, into which it has recorded until `until`, in its
    /// ticks. Its last records will follow, perhaps after those of its next buffer. `provider` is
    /// its archive id.
    pub(crate) fn expect_last(&mut self, id: ProviderId, provider: u32, until: u64) {
        self.finishing += 1;
        self.joined.expect_last(id);
        self.earlier.insert(id, LeftBuffer { provider, until });
        self.stopped(provider, until);
        self.retention.begin_release(provider);
    }

    /// Notes that a provider continues for other sessions. `provider` is its archive id.
    pub(crate) fn left(&mut self, id: ProviderId, provider: u32, now: u64) {
        self.earlier.insert(id, LeftBuffer { provider, until: now });
    }

    /// Takes the last records that were outstanding.
    pub(crate) fn take_outstanding(&mut self, id: ProviderId, last: LastRecords) {
        self.finishing = self.finishing.saturating_sub(1);
        let records = self.take_last(id, last);
        if self.joined.take_outstanding(id) {
            self.forget(id);
        }
        self.pending_snapshots.iter_mut().for_each(|it| it.add_last(&records.words));
        self.write_snapshots();
    }

    /// Returns whether any departed provider is not completely collected.
    pub(crate) fn is_finishing(&self) -> bool {
        self.finishing != 0
    }

    /// Ends the session. All providers have left and are completely collected.
    pub(crate) fn end(mut self) -> EndedRecording {
        let now = ClockSample::now();
        let counter_rate = counter_rate(&self.start_clocks, &now).unwrap_or(self.estimated_rate);
        self.refuse_deferred();
        self.report_omissions(&now, counter_rate);
        self.summarize_helpers();
        let providers = self.departed.into_summaries();
        let has_lost = providers.iter().any(|provider| provider.dropped > 0);
        let incomplete_conditions = self.conditions.incomplete(has_lost);
        let (archive, sinks) = self.outputs.finish(counter_rate);
        EndedRecording {
            duration: self.started.elapsed(),
            providers,
            refused: self.refusals.first,
            refusals: self.refusals.number,
            alerts: self.alerts,
            conditions: self.held,
            unknown_conditions: self.conditions.unknown(),
            incomplete_conditions,
            late_conditions: self.conditions.late(),
            stopped_by: self.stopped_by,
            snapshots: self.snapshots.finish(),
            categories: self.config.categories,
            archive,
            sinks,
            guard_failure: None,
        }
    }
}
