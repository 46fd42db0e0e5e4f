//! Snapshots of a running session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use trace_protocol::archive::{self, ClockSample};
use trace_protocol::mode::BufferingMode;

use super::rotation::ticks_per_second;
use super::Recording;
use crate::category_filter::CategoryFilter;
use crate::clock::counter_rate;
use crate::collection::{Collection, UncountedBuffer};
use crate::error::ManagerError;
use crate::machine::ProviderId;
use crate::memory::available_memory;
use crate::query::EventCounts;
use crate::records::{Records, Words};
use crate::snapshot::{Contents, Requester, Snapshot};

/// The events of a session, to be counted on another thread.
#[derive(Debug)]
pub(crate) struct Uncounted {
    /// The events of providers that have left.
    departed: u64,
    buffers: Vec<UncountedBuffer>,
    filter: CategoryFilter,
    /// The events that the session does not keep, by provider.
    left_out: BTreeMap<u32, u64>,
}

impl Uncounted {
    /// Copies the buffers one after another, and counts the events.
    pub(crate) fn count(mut self) -> EventCounts {
        let buffers = self.buffers.into_iter();
        let counts = buffers.map(|it| it.count_events(&mut self.filter));
        let left_out = |id| self.left_out.get(&id).copied().unwrap_or(0);
        let kept = |(id, events): (u32, u64)| (id, events.saturating_sub(left_out(id)));
        let providers = counts.map(kept).collect();
        EventCounts { departed: self.departed, providers }
    }
}

/// A snapshot that is not complete.
#[derive(Debug)]
pub(super) struct PendingSnapshot {
    snapshot: Snapshot,
    /// The number of providers that left before it, and whose last records are outstanding.
    missing: usize,
    /// The providers whose buffers are not copied yet.
    uncopied: BTreeSet<ProviderId>,
    /// The size of those buffers.
    uncopied_bytes: u64,
}

impl PendingSnapshot {
    fn is_complete(&self) -> bool {
        self.missing == 0 && self.uncopied.is_empty()
    }

    /// Takes records of a provider that left before it, if it waits for any.
    pub(super) fn add_late(&mut self, words: &Words) {
        if let (Ok(contents), true) = (&mut self.snapshot.contents, self.missing > 0) {
            contents.late_records.push(words.clone());
        }
    }

    /// Takes the last records of a provider that left before it, if it waits for any.
    pub(super) fn add_last(&mut self, words: &Words) {
        self.add_late(words);
        self.missing = self.missing.saturating_sub(1);
    }
}

impl Recording {
    /// Takes a snapshot: the archive so far, and the uncollected contents of the providers'
    /// buffers, which [`copy_for_snapshots`](Self::copy_for_snapshots) copies. Another thread
    /// writes it to `path` and reports the result.
    ///
    /// All copies are checked before the call.
    pub(crate) fn snapshot(
        &mut self,
        collection: &Collection,
        path: PathBuf,
        requester: Requester,
    ) {
        let contents = self.contents(collection);
        let (missing, uncopied) = match &contents {
            // The openings of those that have left are in the archive.
            Ok(Contents { prefix: None, .. }) => (0, collection.ids_of(self.number).collect()),
            Ok(_) => (self.finishing, collection.ids_of(self.number).collect()),
            Err(_) => (0, BTreeSet::new()),
        };
        let snapshot = Snapshot { path, requester, contents };
        let uncopied_bytes = collection.buffer_sizes(self.number);
        let pending = PendingSnapshot { snapshot, missing, uncopied, uncopied_bytes };
        self.pending_snapshots.push(pending);
        self.write_snapshots();
    }

    /// Returns the next provider whose buffer is to be copied for a snapshot.
    pub(crate) fn next_uncopied(&self) -> Option<ProviderId> {
        self.pending_snapshots.iter().find_map(|it| it.uncopied.first().copied())
    }

    /// Copies the buffer of a provider for the snapshots that have not copied it. One that no
    /// longer has room for all its copies, because others were copied meanwhile, fails.
    pub(crate) fn copy_for_snapshots(&mut self, collection: &Collection, id: ProviderId) {
        for pending in &mut self.pending_snapshots {
            let PendingSnapshot { snapshot, uncopied, uncopied_bytes, .. } = pending;
            if !uncopied.contains(&id) {
                continue;
            }
            if let Err(error) = check_copy(*uncopied_bytes, available_memory()) {
                snapshot.contents = Err(error);
                (pending.missing, pending.uncopied) = (0, BTreeSet::new());
                continue;
            }
            *uncopied_bytes = uncopied_bytes.saturating_sub(collection.buffer_size(id));
            let extract = uncopied.remove(&id).then(|| collection.extract(id, self.number));
            if let (Some(Some(mut extract)), Ok(contents)) = (extract, &mut snapshot.contents) {
                extract.limited = self.retention.limited(extract.id());
                extract.rest = self.retention.rest(extract.id());
                contents.extracts.push(extract);
            }
        }
        self.write_snapshots();
    }

    /// Reports that a snapshot cannot be taken.
    pub(crate) fn refuse_snapshot(&self, path: PathBuf, requester: Requester, error: ManagerError) {
        self.snapshots.write(Snapshot { path, requester, contents: Err(error) });
    }

    fn contents(&self, collection: &Collection) -> Result<Contents, ManagerError> {
        check_copy(collection.buffer_sizes(self.number), available_memory())?;
        let now = ClockSample::now();
        let rate = counter_rate(&self.start_clocks, &now).unwrap_or(self.estimated_rate);
        let (prefix, late_records) = match self.is_in_memory() {
            true => (None, self.reopened(collection, rate, &now)),
            false => (Some(self.outputs.archive.prefix()?), self.retained(|_| true)),
        };
        Ok(Contents {
            prefix,
            rate,
            late_records,
            extracts: Vec::new(),
            filters: [Some(self.selection.clone()), self.outputs.filter()],
        })
    }

    /// Returns the providers' buffers, to count their events on another thread. Events in copies
    /// that are not checked yet are not counted. Returns `None` if a count takes too much memory.
    pub(crate) fn uncounted(&self, collection: &Collection) -> Option<Uncounted> {
        check_copy(collection.buffer_sizes(self.number), available_memory()).ok()?;
        let ids = collection.of_session(self.number).map(|provider| provider.id());
        Some(Uncounted {
            departed: self.departed.events,
            buffers: collection.uncounted(self.number),
            filter: self.selection.clone(),
            left_out: ids.map(|id| (id, self.retention.limited(id).events)).collect(),
        })
    }

    /// Returns whether a snapshot has what is in memory only: the archive of a circular session
    /// has failed or waits for space, and the records of connected programs are not in it.
    fn is_in_memory(&self) -> bool {
        let status = self.writer_status();
        let is_stuck = status.failure().is_some() || status.is_full();
        self.config.mode == BufferingMode::Circular && is_stuck
    }

    /// Returns the begin of a snapshot without the archive: the connected providers' openings,
    /// durable and retained records.
    fn reopened(&self, collection: &Collection, rate: u64, now: &ClockSample) -> Vec<Words> {
        let mut words = self.spares.take();
        archive::magic(&mut words);
        for provider in collection.of_session(self.number) {
            let identity = provider.identity();
            archive::opening(&mut words, identity, ticks_per_second(identity, rate), now);
            words.extend(provider.durable_records());
        }
        let mut all = vec![self.spares.share(words)];
        let ids: Vec<u32> = collection.of_session(self.number).map(|it| it.id()).collect();
        all.extend(self.retained(|id| ids.contains(&id)));
        all
    }

    /// Returns the records of these providers that the archive does not have yet.
    fn retained(&self, is_selected: impl Fn(u32) -> bool) -> Vec<Words> {
        let mut filter = self.outputs.filter();
        let mut select = |(provider, words)| {
            let records = Records {
                provider,
                words,
                slots: Vec::new(),
                reported: 0,
                is_copy: false,
                is_last: false,
            };
            match &mut filter {
                Some(filter) => filter.select(&records).words,
                None => records.words,
            }
        };
        let contents = self.retention.contents().into_iter().filter(|(id, _)| is_selected(*id));
        contents.map(&mut select).collect()
    }

    /// Starts to write the snapshots that have the buffers of all providers, and the last records
    /// of those that left before.
    pub(super) fn write_snapshots(&mut self) {
        let complete = self.pending_snapshots.iter().take_while(|it| it.is_complete()).count();
        for pending in self.pending_snapshots.drain(..complete) {
            self.snapshots.write(pending.snapshot);
        }
    }

    /// Returns whether another snapshot of alerts is finished.
    pub(crate) fn take_finished_snapshot(&self) -> bool {
        self.snapshots.take_finished()
    }
}

/// Returns an error if a copy of `size` bytes exceeds half of the available memory.
fn check_copy(size: u64, available: u64) -> Result<(), ManagerError> {
    if size > available / 2 {
        return Err(ManagerError::SnapshotTooLarge { size, available });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trace_protocol::buffer::header::BufferingMode;

    use super::*;
    use crate::fixture::{identity, layout, provider, write_event};
    use crate::records::Spares;

    #[test]
    fn a_copy_takes_at_most_half_of_the_available_memory() {
        assert!(check_copy(50, 100).is_ok() && check_copy(0, 0).is_ok());
        let error = check_copy(51, 100).unwrap_err();
        assert!(matches!(error, ManagerError::SnapshotTooLarge { size: 51, available: 100 }));
    }

    #[test]
    fn a_count_has_the_events_of_departed_providers_and_none_that_are_left_out() {
        let layout = layout(BufferingMode::Circular);
        let (data, buffer) = provider(layout);
        write_event(&buffer, &layout, 0, 100);
        let id = identity().id;
        for (left_out, expected) in [(0, (1, 8)), (1, (0, 7))] {
            let mut filter = CategoryFilter::new(&[], Spares::default());
            filter.add(id, 0);
            let (buffers, left_out) = (vec![data.uncounted()], BTreeMap::from([(id, left_out)]));
            let counts = Uncounted { departed: 7, buffers, filter, left_out }.count();
            assert_eq!((counts.of(id), counts.sum()), expected);
        }
    }
}
