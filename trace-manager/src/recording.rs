//! The data of a session: the collection of its providers, and its sinks.

mod sinks;
mod snapshots;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trace_protocol::archive::{ClockSample, Identity};
use trace_protocol::buffer::consumer::{Collector, IdentityPolicy};
use trace_protocol::buffer::header::Layout;

use crate::archive::WriterStatus;
use crate::buffers::SharedBuffer;
use crate::clock::{counter_rate, sample_after};
use crate::collection::{Collection, Departure, FinalRecords, ProviderData};
use crate::config::SessionConfig;
use crate::guard::JoinedProvider;
use crate::machine::{ProviderId, SaveRequest};
use crate::query::ProviderStatistics;
use crate::records::Records;
use crate::sink::{Finish, Opening};
use crate::snapshot::{FinishingSnapshots, Snapshot, Snapshots};
use crate::summary::{ProviderSummary, Refusal};

pub(crate) use sinks::{union, Sinks};

/// The largest age of a clock sample that is compared with another one. Over a longer time, the
/// machine may have slept and stopped the counter.
const MAX_SAMPLE_AGE: Duration = Duration::from_secs(60);

/// The rate of the CPU's counter if it cannot be measured.
const DEFAULT_RATE: u64 = 1_000_000_000;

/// The number of refusals that are kept.
const MAX_REFUSALS: usize = 100;

/// The number of alert names that are kept.
const MAX_ALERTS: usize = 1000;

/// The data of a session.
#[derive(Debug)]
pub(crate) struct Recording {
    config: SessionConfig,
    collection: Collection,
    outputs: Sinks,
    started: Instant,
    /// The clocks at the start of the session.
    start_clocks: ClockSample,
    /// The counter's rate as measured before the session. The archive has it until the end, and a
    /// pipe has it forever.
    estimated_rate: u64,
    summaries: Vec<ProviderSummary>,
    refused: Vec<Refusal>,
    refusals: u64,
    alerts: BTreeMap<String, u64>,
    /// The alert that stopped the session.
    pub(crate) stopped_by: Option<String>,
    snapshots: Snapshots,
    /// Snapshots that wait for the last records of providers, with the number of these providers.
    pending_snapshots: Vec<(usize, Snapshot)>,
}

/// A provider that joins the session.
#[derive(Debug)]
pub(crate) struct NewProvider<'a> {
    pub(crate) identity: Identity,
    pub(crate) known_categories: Vec<String>,
    /// The processes about which it may write records.
    pub(crate) policy: IdentityPolicy,
    /// The reader of its buffer.
    pub(crate) collector: Collector,
    pub(crate) layout: Layout,
    pub(crate) buffer: &'a Arc<SharedBuffer>,
    /// The manager's end of its packet socket.
    pub(crate) packets: BorrowedFd<'a>,
}

/// An ended session, whose archive may still be written.
#[derive(Debug)]
pub(crate) struct EndedRecording {
    pub(crate) duration: Duration,
    pub(crate) providers: Vec<ProviderSummary>,
    pub(crate) refused: Vec<Refusal>,
    pub(crate) refusals: u64,
    pub(crate) alerts: BTreeMap<String, u64>,
    pub(crate) stopped_by: Option<String>,
    pub(crate) snapshots: FinishingSnapshots,
    pub(crate) categories: Vec<String>,
    pub(crate) archive: Finish,
    pub(crate) sinks: Vec<Finish>,
}

impl Recording {
    /// Starts a session.
    ///
    /// `earlier` is a sample from before the session. If it is too new, this waits; if it is too
    /// old, it is replaced.
    pub(crate) fn begin(
        config: SessionConfig,
        collection: Collection,
        outputs: Sinks,
        snapshots: Snapshots,
        earlier: &mut ClockSample,
    ) -> Self {
        let now = ClockSample::now();
        if now.since(earlier) > MAX_SAMPLE_AGE {
            *earlier = now;
        }
        let start_clocks = sample_after(earlier);
        Self {
            config,
            collection,
            outputs,
            started: Instant::now(),
            start_clocks,
            estimated_rate: counter_rate(earlier, &start_clocks).unwrap_or(DEFAULT_RATE),
            summaries: Vec::new(),
            refused: Vec::new(),
            refusals: 0,
            alerts: BTreeMap::new(),
            stopped_by: None,
            snapshots,
            pending_snapshots: Vec::new(),
        }
    }

    /// Returns the session's configuration.
    pub(crate) fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Returns the archive id for the next provider.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.collection.next_id()
    }

    /// Adds a provider, before it gets its buffer.
    pub(crate) fn join(&mut self, id: ProviderId, new: NewProvider<'_>) {
        let NewProvider { identity, known_categories, policy, collector, layout, buffer, packets } =
            new;
        let now = ClockSample::now();
        let joined_at = now.ticks(identity.clock);
        let joined =
            JoinedProvider { identity: &identity, policy, joined_at, layout, buffer, packets };
        self.outputs.open(&Opening { joined, now, counter_rate: self.estimated_rate });
        let buffer = Arc::clone(buffer);
        let after = self.started.elapsed();
        let provider = ProviderData::new(
            identity,
            known_categories,
            collector,
            buffer,
            joined_at,
            after,
            layout,
        );
        self.collection.join(id, provider);
    }

    /// Records that a provider was refused. Only the first refusals are kept.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        self.refusals += 1;
        if self.refused.len() < MAX_REFUSALS {
            self.refused.push(refusal);
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

    /// Copies a rolling buffer. After this, its provider may reuse it.
    pub(crate) fn save(&mut self, id: ProviderId, request: SaveRequest) {
        while self.collection.is_behind(id) {
            let records = self.collection.sanitize(id);
            self.take(records);
        }
        let Some((provider, layout)) = self.collection.provider(id) else { return };
        let (providers, _) = self.collection.providers();
        let archive = &mut self.outputs.archive;
        let slot = archive.allocate_slot(provider, &layout, providers);
        let shared = slot.is_some();
        self.collection.copy(id, request, slot);
        archive.copied(provider, request.wrapped_count, shared);
    }

    /// Returns whether any copy is not checked yet.
    pub(crate) fn has_waiting(&self) -> bool {
        self.collection.has_waiting()
    }

    /// Checks the oldest copy, if there is one.
    pub(crate) fn sanitize_one(&mut self) {
        let records = self.collection.sanitize_one();
        self.take(records);
    }

    fn take(&mut self, records: Option<Records>) {
        if let Some(records) = records {
            self.outputs.take(&records);
        }
    }

    /// Starts to collect the last records of a provider. [`Recording::take_final`] passes them to
    /// the sinks.
    pub(crate) fn finish(&mut self, id: ProviderId, departure: Departure) {
        self.collection.finish(id, departure);
    }

    /// Passes the last records of departed providers to the sinks.
    pub(crate) fn take_final(&mut self) {
        while let Some(FinalRecords { records, mut summary }) = self.collection.take_final() {
            let records = self.outputs.take(&records);
            for (missing, snapshot) in &mut self.pending_snapshots {
                if let Ok(contents) = &mut snapshot.contents {
                    contents.late_records.push(records.words.clone());
                }
                *missing = missing.saturating_sub(1);
            }
            self.write_snapshots();
            summary.bytes = self.outputs.archive.take_bytes(summary.id);
            self.summaries.push(summary);
        }
    }

    /// Returns whether any departed provider is not completely collected.
    pub(crate) fn is_finishing(&self) -> bool {
        self.collection.outstanding() != 0
    }

    /// Ends the session. All providers have left and are completely collected.
    pub(crate) fn end(self) -> EndedRecording {
        let now = ClockSample::now();
        let counter_rate = counter_rate(&self.start_clocks, &now).unwrap_or(self.estimated_rate);
        let mut providers = self.summaries;
        providers.sort_by_key(|provider| provider.id);
        let (archive, sinks) = self.outputs.finish(counter_rate);
        EndedRecording {
            duration: self.started.elapsed(),
            providers,
            refused: self.refused,
            refusals: self.refusals,
            alerts: self.alerts,
            stopped_by: self.stopped_by,
            snapshots: self.snapshots.finish(),
            categories: self.config.categories,
            archive,
            sinks,
        }
    }

    /// Returns the time since the start of the session.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the number of providers now, and of all that have joined.
    pub(crate) fn providers(&self) -> (usize, usize) {
        self.collection.providers()
    }

    /// Returns the number of events collected so far.
    pub(crate) fn events(&self) -> u64 {
        self.collection.events()
    }

    /// Returns the number of records dropped so far.
    pub(crate) fn lost(&self) -> u64 {
        self.collection.lost()
    }

    /// Returns the statistics of the connected providers.
    pub(crate) fn statistics(&self) -> Vec<ProviderStatistics> {
        let mut all = self.collection.statistics();
        for provider in &mut all {
            provider.bytes = self.outputs.archive.bytes(provider.id);
        }
        all
    }

    /// Returns the state of the archive's writer.
    pub(crate) fn writer_status(&self) -> Arc<WriterStatus> {
        self.outputs.archive.status()
    }
}
