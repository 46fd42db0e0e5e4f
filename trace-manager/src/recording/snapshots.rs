//! Snapshots of a session that goes on.

use std::path::PathBuf;

use trace_protocol::archive::ClockSample;

use super::Recording;
use crate::clock::counter_rate;
use crate::error::ManagerError;
use crate::memory::available_memory;
use crate::snapshot::{Contents, Requester, Snapshot};

impl Recording {
    /// Takes a snapshot: what is in the archive, and what the providers' buffers hold beyond it.
    /// Another thread writes it to `path` and says what has come of it.
    pub(crate) fn snapshot(&mut self, path: PathBuf, requester: Requester) {
        let contents = self.contents();
        let missing = contents.as_ref().map_or(0, |_| self.collection.outstanding());
        self.pending_snapshots.push((missing, Snapshot { path, requester, contents }));
        self.write_snapshots();
    }

    /// Says that a snapshot cannot be taken.
    pub(crate) fn refuse_snapshot(&self, path: PathBuf, requester: Requester, error: ManagerError) {
        self.snapshots.write(Snapshot { path, requester, contents: Err(error) });
    }

    fn contents(&mut self) -> Result<Contents, ManagerError> {
        self.enough_memory()?;
        while self.has_waiting() {
            self.sanitize_one();
        }
        Ok(Contents {
            prefix: self.outputs.archive.prefix()?,
            rate: counter_rate(&self.start_clocks, &ClockSample::now())
                .unwrap_or(self.estimated_rate),
            late_records: Vec::new(),
            extracts: self.collection.extracts(),
            filter: self.outputs.filter(),
        })
    }

    fn enough_memory(&self) -> Result<(), ManagerError> {
        let size = self.collection.buffer_sizes();
        let available = available_memory();
        if size > available / 2 {
            return Err(ManagerError::SnapshotTooLarge { size, available });
        }
        Ok(())
    }

    /// Has snapshots written that have all that providers left behind before them.
    pub(super) fn write_snapshots(&mut self) {
        let ready = self.pending_snapshots.iter().take_while(|(missing, _)| *missing == 0).count();
        for (_, snapshot) in self.pending_snapshots.drain(..ready) {
            self.snapshots.write(snapshot);
        }
    }

    /// Tells whether another snapshot that alerts asked for is over.
    pub(crate) fn take_finished_snapshot(&self) -> bool {
        self.snapshots.take_finished()
    }
}
