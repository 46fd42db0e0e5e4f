//! Snapshots of a running session.

use std::path::PathBuf;

use trace_protocol::archive::ClockSample;

use super::Recording;
use crate::category_filter::CategoryFilter;
use crate::clock::counter_rate;
use crate::collection::{Collection, Extract, UncountedBuffer};
use crate::error::ManagerError;
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
}

impl Uncounted {
    /// Copies the buffers one after another, and counts the events.
    pub(crate) fn count(mut self) -> EventCounts {
        let buffers = self.buffers.into_iter();
        let providers = buffers.map(|it| it.count_events(&mut self.filter)).collect();
        EventCounts { departed: self.departed, providers }
    }
}

impl Recording {
    /// Takes a snapshot: the archive so far, and the uncollected contents of the providers'
    /// buffers. Another thread writes it to `path` and reports the result.
    ///
    /// All copies are checked before the call.
    pub(crate) fn snapshot(
        &mut self,
        collection: &Collection,
        path: PathBuf,
        requester: Requester,
    ) {
        let contents = self.contents(collection);
        let missing = contents.as_ref().map_or(0, |_| self.finishing);
        self.pending_snapshots.push((missing, Snapshot { path, requester, contents }));
        self.write_snapshots();
    }

    /// Reports that a snapshot cannot be taken.
    pub(crate) fn refuse_snapshot(&self, path: PathBuf, requester: Requester, error: ManagerError) {
        self.snapshots.write(Snapshot { path, requester, contents: Err(error) });
    }

    fn contents(&self, collection: &Collection) -> Result<Contents, ManagerError> {
        check_copy(collection.buffer_sizes(self.number), available_memory())?;
        Ok(Contents {
            prefix: self.outputs.archive.prefix()?,
            rate: counter_rate(&self.start_clocks, &ClockSample::now())
                .unwrap_or(self.estimated_rate),
            late_records: self.retained(),
            extracts: self.extracts(collection),
            filters: [Some(self.selection.clone()), self.outputs.filter()],
        })
    }

    /// Returns the providers' buffers, to count their events on another thread. Events in copies
    /// that are not checked yet are not counted. Returns `None` if a count takes too much memory.
    pub(crate) fn uncounted(&self, collection: &Collection) -> Option<Uncounted> {
        check_copy(collection.buffer_sizes(self.number), available_memory()).ok()?;
        Some(Uncounted {
            departed: self.departed.events,
            buffers: collection.uncounted(self.number),
            filter: self.selection.clone(),
        })
    }

    fn extracts(&self, collection: &Collection) -> Vec<Extract> {
        let mut extracts = collection.extracts(self.number);
        for extract in &mut extracts {
            extract.limited = self.retention.limited(extract.id());
        }
        extracts
    }

    /// Returns the records that the archive does not have yet.
    fn retained(&self) -> Vec<Words> {
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
        self.retention.contents().into_iter().map(&mut select).collect()
    }

    /// Starts to write the snapshots that have the last records of all providers that left before
    /// them.
    pub(super) fn write_snapshots(&mut self) {
        let ready = self.pending_snapshots.iter().take_while(|(missing, _)| *missing == 0).count();
        for (_, snapshot) in self.pending_snapshots.drain(..ready) {
            self.snapshots.write(snapshot);
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
    fn a_count_has_the_events_of_departed_providers() {
        let layout = layout(BufferingMode::Circular);
        let (data, buffer) = provider(layout);
        write_event(&buffer, &layout, 0, 100);
        let mut filter = CategoryFilter::new(&[], Spares::default());
        filter.add(identity().id, 0);
        let buffers = vec![data.uncounted()];
        let counts = Uncounted { departed: 7, buffers, filter }.count();
        assert_eq!((counts.of(identity().id), counts.sum()), (1, 8));
    }
}
