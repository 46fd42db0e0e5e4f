//! Snapshots of a session that goes on.

use std::path::PathBuf;

use trace_protocol::archive::ClockSample;

use super::Recording;
use crate::clock::counter_rate;
use crate::error::ManagerError;
use crate::memory::available_memory;
use crate::snapshot::{Contents, Origin, Snapshot};

impl Recording {
    /// Takes a snapshot: what is in the archive, and what the providers' buffers hold beyond it.
    /// Another thread writes it to `path` and says what has come of it.
    pub(crate) fn snapshot(&mut self, path: PathBuf, origin: Origin) {
        let contents = self.contents();
        let missing = contents.as_ref().map_or(0, |_| self.collection.outstanding());
        self.unfinished.push((missing, Snapshot { path, origin, contents }));
        self.write_snapshots();
    }

    /// Says that a snapshot cannot be taken.
    pub(crate) fn refuse_snapshot(&self, path: PathBuf, origin: Origin, error: ManagerError) {
        self.snapshots.write(Snapshot { path, origin, contents: Err(error) });
    }

    fn contents(&mut self) -> Result<Contents, ManagerError> {
        self.enough_memory()?;
        while self.has_waiting() {
            self.sanitize_one();
        }
        Ok(Contents {
            beginning: self.outputs.archive.beginning()?,
            rate: counter_rate(&self.first, &ClockSample::now()).unwrap_or(self.estimate),
            remains: Vec::new(),
            extracts: self.collection.extracts(),
            filter: self.outputs.filter(),
        })
    }

    fn enough_memory(&self) -> Result<(), ManagerError> {
        let wanted = self.collection.buffer_sizes();
        let available = available_memory();
        if wanted > available / 2 {
            return Err(ManagerError::SnapshotTooLarge { wanted, available });
        }
        Ok(())
    }

    /// Has snapshots written that have all that providers left behind before them.
    pub(super) fn write_snapshots(&mut self) {
        let ready = self.unfinished.iter().take_while(|(missing, _)| *missing == 0).count();
        for (_, snapshot) in self.unfinished.drain(..ready) {
            self.snapshots.write(snapshot);
        }
    }

    /// Tells whether another snapshot that alerts asked for is over.
    pub(crate) fn take_snapshot_over(&self) -> bool {
        self.snapshots.take_over()
    }
}
