//! The names of snapshots.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use trace_protocol::file::utc;

/// Names the snapshots of an archive: `trace-snapshot-20261122T120431.250Z.fxt` for `trace.fxt`.
#[derive(Debug)]
pub(crate) struct SnapshotNames {
    /// The archive's path as the caller has it.
    archive: PathBuf,
    /// The time in the last name.
    last: Option<SystemTime>,
}

impl SnapshotNames {
    pub(crate) fn new(archive: PathBuf) -> Self {
        Self { archive, last: None }
    }

    /// Returns the path of the next snapshot. Paths are different, and in the order of time even if
    /// the clock is set back.
    pub(crate) fn next(&mut self, now: SystemTime) -> PathBuf {
        let after_last = self.last.and_then(|last| last.checked_add(Duration::from_millis(1)));
        let time = after_last.map_or(now, |after_last| after_last.max(now));
        self.last = Some(time);
        path_at(&self.archive, time)
    }
}

fn path_at(archive: &Path, time: SystemTime) -> PathBuf {
    let is_compression = |extension: &OsStr| extension == "gz" || extension == "zst";
    let outer = archive.extension().filter(|extension| is_compression(extension));
    let inner =
        Path::new(outer.and(archive.file_stem()).or(archive.file_name()).unwrap_or_default());
    let mut name = inner.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-snapshot-{}", utc(time)));
    for extension in [inner.extension(), outer].into_iter().flatten() {
        name.push(".");
        name.push(extension);
    }
    archive.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_named_after_the_archive() {
        for (archive, snapshot) in [
            ("trace.fxt", "trace-snapshot-19700101T000000.000Z.fxt"),
            ("/a.b/trace", "/a.b/trace-snapshot-19700101T000000.000Z"),
            ("dir/.fxt", "dir/.fxt-snapshot-19700101T000000.000Z"),
            ("a.b.fxt", "a.b-snapshot-19700101T000000.000Z.fxt"),
            ("a.fxt.gz", "a-snapshot-19700101T000000.000Z.fxt.gz"),
            ("a.gz", "a-snapshot-19700101T000000.000Z.gz"),
        ] {
            let mut names = SnapshotNames::new(archive.into());
            assert_eq!(names.next(SystemTime::UNIX_EPOCH), Path::new(snapshot));
        }
    }

    #[test]
    fn names_are_different_and_in_order() {
        let mut names = SnapshotNames::new("a".into());
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let paths = [9, 9, 3, 10].map(|seconds| names.next(at(seconds)));
        let expected = ["09.000", "09.001", "09.002", "10.000"]
            .map(|time| PathBuf::from(format!("a-snapshot-19700101T0000{time}Z")));
        assert_eq!(paths, expected);
    }
}
