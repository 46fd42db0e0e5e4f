//! Limits of the snapshots that alerts take.

use std::fs;
use std::time::Duration;

use crate::summary::SnapshotSummary;

/// Limits of the snapshots that alerts take. Snapshots that the caller requests do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// The number of snapshots that are kept, at least 1; default 100. The oldest is removed.
    pub keep: u32,
    /// The minimum time between the starts of two snapshots; default 1 s. Alerts in between share
    /// the next one.
    pub min_interval: Duration,
    /// The total size in bytes of the snapshots that are kept; default unlimited. The oldest are
    /// removed, but not the newest.
    pub max_size: u64,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self { keep: 100, min_interval: Duration::from_secs(1), max_size: u64::MAX }
    }
}

impl SnapshotLimits {
    /// Removes the oldest snapshots beyond the limits. Returns the number of removed files.
    pub(super) fn enforce(&self, summaries: &mut Vec<SnapshotSummary>) -> u64 {
        let mut removed = 0;
        while self.are_exceeded(summaries) {
            let Some(oldest) = summaries.iter().position(is_of_alerts) else { break };
            let SnapshotSummary { path, archive, .. } = summaries.remove(oldest);
            // If it cannot be removed, the user has moved or removed it.
            if archive.is_ok() && fs::remove_file(path).is_ok() {
                removed += 1;
            }
        }
        removed
    }

    fn are_exceeded(&self, summaries: &[SnapshotSummary]) -> bool {
        let counted = || summaries.iter().filter(|summary| is_of_alerts(summary));
        let sizes = counted().map(|summary| *summary.archive.as_ref().unwrap_or(&0));
        let size = sizes.fold(0, u64::saturating_add);
        let number = counted().count();
        number > self.keep.max(1) as usize || (number > 1 && size > self.max_size)
    }
}

fn is_of_alerts(summary: &SnapshotSummary) -> bool {
    !summary.alerts.is_empty()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::ManagerError;

    fn summary(directory: &Path, name: &str, bytes: Option<u64>) -> SnapshotSummary {
        let path = directory.join(name);
        if bytes.is_some() {
            fs::write(&path, name).unwrap();
        }
        let alerts = if name.starts_with("requested") { vec![] } else { vec!["slow".to_owned()] };
        SnapshotSummary { path, alerts, archive: bytes.ok_or(ManagerError::SessionEnded) }
    }

    /// Returns the names that stay of `a` (100 bytes), `requested` (100), `b` (failed), `c` (50)
    /// and `d` (10).
    fn kept(limits: SnapshotLimits) -> (Vec<String>, u64) {
        let directory = tempfile::tempdir().unwrap();
        let sizes = [Some(100), Some(100), None, Some(50), Some(10)];
        let names = ["a", "requested", "b", "c", "d"];
        let mut summaries: Vec<_> = names
            .iter()
            .zip(sizes)
            .map(|(name, size)| summary(directory.path(), name, size))
            .collect();
        let removed = limits.enforce(&mut summaries);
        let files = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, summaries.iter().filter(|summary| summary.archive.is_ok()).count());
        let name = |summary: &SnapshotSummary| {
            summary.path.file_name().unwrap().to_string_lossy().into_owned()
        };
        (summaries.iter().map(name).collect(), removed)
    }

    #[test]
    fn the_oldest_snapshots_of_alerts_are_removed() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let limits = SnapshotLimits::default();
        assert_eq!(kept(limits), (names(&["a", "requested", "b", "c", "d"]), 0));
        let keep = |keep| kept(SnapshotLimits { keep, ..limits });
        assert_eq!(keep(3), (names(&["requested", "b", "c", "d"]), 1));
        assert_eq!(keep(2), (names(&["requested", "c", "d"]), 1));
        assert_eq!(keep(1), (names(&["requested", "d"]), 2));
        assert_eq!(keep(0), keep(1));
        let max_size = |max_size| kept(SnapshotLimits { max_size, ..limits });
        assert_eq!(max_size(160).1, 0);
        assert_eq!(max_size(159), (names(&["requested", "b", "c", "d"]), 1));
        assert_eq!(max_size(1), (names(&["requested", "d"]), 2), "the newest stays");
    }
}
