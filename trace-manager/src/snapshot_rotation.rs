//! Limits of the snapshots that alerts take.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::summary::SnapshotSummary;
use crate::trigger::Cause;

/// The number of failed snapshots whose errors are kept.
const MAX_FAILURES: usize = 100;

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

/// The limits of a session's snapshots, with those of single triggers.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeepLimits {
    pub(crate) limits: SnapshotLimits,
    /// The number of snapshots that are kept of a cause, if it has its own. A snapshot belongs to
    /// its first cause. The size limit is that of all snapshots.
    pub(crate) own: BTreeMap<Cause, u32>,
}

impl KeepLimits {
    /// Removes the oldest snapshots beyond the limits. Returns the number of removed files.
    ///
    /// Failed snapshots have no file, so they do not count.
    pub(crate) fn enforce(&self, summaries: &mut Vec<SnapshotSummary>) -> u64 {
        let own: u64 = self.own.iter().map(|(cause, keep)| keep_of(summaries, cause, *keep)).sum();
        let is_shared = |summary: &SnapshotSummary| {
            is_file_of_alerts(summary)
                && summary.causes.first().is_none_or(|cause| !self.own.contains_key(cause))
        };
        let number = SnapshotLimits { max_size: u64::MAX, ..self.limits };
        let size = SnapshotLimits { keep: u32::MAX, ..self.limits };
        let shared = number.enforce_for(summaries, is_shared);
        own + shared + size.enforce_for(summaries, is_file_of_alerts)
    }
}

/// Removes the oldest snapshots of a cause beyond `keep`. Returns the number of removed files.
fn keep_of(summaries: &mut Vec<SnapshotSummary>, cause: &Cause, keep: u32) -> u64 {
    let is_own = |summary: &SnapshotSummary| {
        is_file_of_alerts(summary) && summary.causes.first().is_some_and(|first| first == cause)
    };
    let limits = SnapshotLimits { keep, max_size: u64::MAX, ..SnapshotLimits::default() };
    limits.enforce_for(summaries, is_own)
}

impl SnapshotLimits {
    /// Removes the oldest of the selected snapshots beyond the limits. Returns the number of
    /// removed files.
    fn enforce_for(
        &self,
        summaries: &mut Vec<SnapshotSummary>,
        is_selected: impl Fn(&SnapshotSummary) -> bool,
    ) -> u64 {
        let mut removed = 0;
        while self.are_exceeded(summaries, &is_selected) {
            let Some(oldest) = summaries.iter().position(&is_selected) else { break };
            // If it cannot be removed, the user has moved or removed it.
            removed += u64::from(fs::remove_file(summaries.remove(oldest).path).is_ok());
        }
        forget_failures(summaries);
        removed
    }

    fn are_exceeded(
        &self,
        summaries: &[SnapshotSummary],
        is_selected: impl Fn(&SnapshotSummary) -> bool,
    ) -> bool {
        let counted = || summaries.iter().filter(|summary| is_selected(summary));
        let sizes = counted().filter_map(|summary| summary.archive.as_ref().ok().copied());
        let size = sizes.fold(0, u64::saturating_add);
        let number = counted().count();
        number > self.keep.max(1) as usize || (number > 1 && size > self.max_size)
    }
}

/// Removes the summaries of the oldest failures beyond [`MAX_FAILURES`].
fn forget_failures(summaries: &mut Vec<SnapshotSummary>) {
    let failures = summaries.iter().filter(|summary| summary.archive.is_err()).count();
    let mut excess = failures.saturating_sub(MAX_FAILURES);
    summaries.retain(|summary| {
        let is_removed = summary.archive.is_err() && excess > 0;
        excess -= usize::from(is_removed);
        !is_removed
    });
}

fn is_file_of_alerts(summary: &SnapshotSummary) -> bool {
    !summary.causes.is_empty() && summary.archive.is_ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::ManagerError;

    fn cause(name: &str) -> Cause {
        Cause::Alert(name.to_owned())
    }

    fn summary(directory: &Path, name: &str, bytes: Option<u64>) -> SnapshotSummary {
        let path = directory.join(name);
        if bytes.is_some() {
            fs::write(&path, name).unwrap();
        }
        let causes = if name.starts_with("requested") { vec![] } else { vec![cause("slow")] };
        SnapshotSummary { path, causes, archive: bytes.ok_or(ManagerError::SessionEnded) }
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
        let limits = KeepLimits { limits, own: BTreeMap::new() };
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
        assert_eq!(keep(3).1, 0, "a failed snapshot does not count");
        assert_eq!(keep(2), (names(&["requested", "b", "c", "d"]), 1));
        assert_eq!(keep(1), (names(&["requested", "b", "d"]), 2));
        assert_eq!(keep(0), keep(1));
        let max_size = |max_size| kept(SnapshotLimits { max_size, ..limits });
        assert_eq!(max_size(160).1, 0);
        assert_eq!(max_size(159), (names(&["requested", "b", "c", "d"]), 1));
        assert_eq!(max_size(1), (names(&["requested", "b", "d"]), 2), "the newest stays");
    }

    /// A trigger with its own number neither removes nor protects snapshots of others.
    #[test]
    fn a_trigger_keeps_its_own_number() {
        let directory = tempfile::tempdir().unwrap();
        let of = |name: &str, causes: &[&str]| SnapshotSummary {
            causes: causes.iter().map(|name| cause(name)).collect(),
            ..summary(directory.path(), name, Some(10))
        };
        let mut summaries = vec![
            of("a", &["own"]),
            of("b", &["other"]),
            of("c", &["own", "other"]),
            of("d", &["other", "own"]),
            of("e", &["own"]),
        ];
        let limits = SnapshotLimits { keep: 1, ..SnapshotLimits::default() };
        let own = BTreeMap::from([(cause("own"), 2)]);
        assert_eq!(KeepLimits { limits, own }.enforce(&mut summaries), 2);
        let kept: Vec<_> = summaries.iter().map(|it| it.path.file_name().unwrap()).collect();
        assert_eq!(kept, ["c", "d", "e"]);
    }

    #[test]
    fn the_size_limit_is_for_all_triggers() {
        let directory = tempfile::tempdir().unwrap();
        let mut summaries: Vec<_> =
            ["a", "b", "c"].iter().map(|name| summary(directory.path(), name, Some(50))).collect();
        summaries[1].causes = vec![cause("other")];
        let limits = SnapshotLimits { max_size: 100, ..SnapshotLimits::default() };
        let own = BTreeMap::from([(cause("slow"), 1000)]);
        assert_eq!(KeepLimits { limits, own }.enforce(&mut summaries), 1);
        let kept: Vec<_> = summaries.iter().map(|it| it.path.file_name().unwrap()).collect();
        assert_eq!(kept, ["b", "c"]);
    }

    /// An alert that waits when the session ends has no snapshot.
    #[test]
    fn a_failed_snapshot_does_not_remove_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let limits = SnapshotLimits { keep: 1, max_size: 1, ..SnapshotLimits::default() };
        let limits = KeepLimits { limits, own: BTreeMap::new() };
        let mut summaries = vec![summary(directory.path(), "good", Some(100))];
        for number in 0..=MAX_FAILURES {
            summaries.push(summary(directory.path(), &format!("failed{number}"), None));
            assert_eq!(limits.enforce(&mut summaries), 0);
        }
        assert!(directory.path().join("good").exists());
        assert_eq!(summaries.len(), 1 + MAX_FAILURES, "old failures are removed");
        assert!(summaries[1].path.ends_with("failed1"), "{:?}", summaries[1]);
    }
}
