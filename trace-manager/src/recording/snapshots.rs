//! Snapshots of a running session.

use std::path::PathBuf;

use trace_protocol::archive::ClockSample;

use super::Recording;
use crate::clock::counter_rate;
use crate::error::ManagerError;
use crate::memory::available_memory;
use crate::snapshot::{Contents, Requester, Snapshot};

impl Recording {
    /// Takes a snapshot: the archive so far, and the uncollected contents of the providers'
    /// buffers. Another thread writes it to `path` and reports the result.
    pub(crate) fn snapshot(&mut self, path: PathBuf, requester: Requester) {
        let contents = self.contents();
        let missing = contents.as_ref().map_or(0, |_| self.collection.outstanding());
        self.pending_snapshots.push((missing, Snapshot { path, requester, contents }));
        self.write_snapshots();
    }

    /// Reports that a snapshot cannot be taken.
    pub(crate) fn refuse_snapshot(&self, path: PathBuf, requester: Requester, error: ManagerError) {
        self.snapshots.write(Snapshot { path, requester, contents: Err(error) });
    }

    fn contents(&mut self) -> Result<Contents, ManagerError> {
        self.check_memory()?;
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

    fn check_memory(&self) -> Result<(), ManagerError> {
        check_copy(self.collection.buffer_sizes(), available_memory())
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
    use super::*;

    #[test]
    fn a_copy_takes_at_most_half_of_the_available_memory() {
        assert!(check_copy(50, 100).is_ok() && check_copy(0, 0).is_ok());
        let error = check_copy(51, 100).unwrap_err();
        assert!(matches!(error, ManagerError::SnapshotTooLarge { size: 51, available: 100 }));
    }
}
