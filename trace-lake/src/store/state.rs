//! The archives and files of a store, and how a change affects them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the files of one folder share. The host and the service are names that the caller gives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Partition {
    /// The day in UTC on which the archives start, as `2026-11-29`.
    pub day: String,
    /// The host.
    pub host: String,
    /// The service.
    pub service: String,
}

/// An archive of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveEntry {
    /// Its id: the first 128 bits of the SHA-256 of the input, in hexadecimal digits.
    pub id: String,
    /// The number in the upper bits of its ids, which no other archive of the store has.
    pub number: i64,
    /// Its path, as it was given.
    pub path: String,
    /// Its partition.
    #[serde(flatten)]
    pub partition: Partition,
    /// The version of the program, or `None` if unknown.
    pub version: Option<String>,
    /// Where its time since 1970 comes from.
    pub clock: ClockSource,
    /// The nanoseconds that were added to its times.
    pub shift_ns: i64,
    /// The time of the first record since 1970 in nanoseconds, or `None` without records.
    pub start_ns: Option<i64>,
    /// The time of the last record.
    pub end_ns: Option<i64>,
    /// The time of the addition since 1970 in nanoseconds.
    pub added_ns: i64,
}

impl ArchiveEntry {
    /// Returns the time after which it has no records, since 1970 in nanoseconds.
    #[must_use]
    pub fn last_ns(&self) -> i64 {
        self.end_ns.unwrap_or(self.added_ns)
    }
}

/// Where the time since 1970 of an archive comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockSource {
    /// The option `--time`.
    Option,
    /// The archive.
    Archive,
    /// The time of the file's last change, which is that of the last record.
    File,
}

/// A Parquet file of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path in the store.
    pub path: String,
    /// Its table.
    pub table: String,
    /// Its partition.
    #[serde(flatten)]
    pub partition: Partition,
    /// Its length in bytes.
    pub bytes: u64,
    /// The SHA-256 of its bytes in hexadecimal digits, or `None` if an earlier program wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Its rows.
    pub rows: u64,
    /// The least and the greatest time of its rows in nanoseconds since 1970, if the table has a
    /// time.
    pub times: Option<(i64, i64)>,
}

/// What a change adds and removes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// New archives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<ArchiveEntry>,
    /// New files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileEntry>,
    /// The ids of archives that are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_archives: Vec<String>,
    /// The paths of files that no query reads any longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_files: Vec<String>,
    /// The paths of removed files that are deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted_files: Vec<String>,
}

/// The content of a store after a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The archives by id.
    pub archives: BTreeMap<String, ArchiveEntry>,
    /// The files by path.
    pub files: BTreeMap<String, FileEntry>,
    /// Removed files that are not yet deleted, with the time of their removal since 1970 in
    /// nanoseconds.
    pub removed: BTreeMap<String, i64>,
}

impl State {
    /// Applies a change of this time.
    pub(crate) fn apply(&mut self, change: &Change, written_ns: i64) {
        for id in &change.removed_archives {
            self.archives.remove(id);
        }
        for path in &change.removed_files {
            self.files.remove(path);
            self.removed.insert(path.clone(), written_ns);
        }
        for path in &change.deleted_files {
            self.removed.remove(path);
        }
        let archives = change.archives.iter().cloned();
        self.archives.extend(archives.map(|archive| (archive.id.clone(), archive)));
        let files = change.files.iter().cloned();
        self.files.extend(files.map(|file| (file.path.clone(), file)));
    }

    /// Returns the files of a table.
    pub(crate) fn of_table<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a FileEntry> {
        self.files.values().filter(move |file| file.table == table)
    }

    /// Returns the time of the first and of the last record, if there is one.
    #[must_use]
    pub fn extent(&self) -> Option<(i64, i64)> {
        let first = self.archives.values().filter_map(|archive| archive.start_ns).min()?;
        let last = self.archives.values().filter_map(|archive| archive.end_ns).max()?;
        Some((first, last))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn partition(day: &str) -> Partition {
        Partition { day: day.to_owned(), host: "h".to_owned(), service: "s".to_owned() }
    }

    pub(crate) fn file(path: &str, times: Option<(i64, i64)>) -> FileEntry {
        let (path, table, partition) =
            (path.to_owned(), "spans".to_owned(), partition("2026-11-29"));
        FileEntry { path, table, partition, bytes: 10, sha256: None, rows: 1, times }
    }

    #[test]
    fn a_removed_file_is_known_until_it_is_deleted() {
        let mut state = State::default();
        state.apply(&Change { files: vec![file("a", None)], ..Change::default() }, 1);
        let removal = Change {
            removed_files: vec!["a".to_owned()],
            files: vec![file("b", None)],
            ..Change::default()
        };
        state.apply(&removal, 5);
        assert_eq!(state.files.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(state.removed, [("a".to_owned(), 5)].into());
        state.apply(&Change { deleted_files: vec!["a".to_owned()], ..Change::default() }, 6);
        assert!(state.removed.is_empty());
    }

    #[test]
    fn the_text_of_a_change_has_no_empty_lists() {
        let change = Change { removed_files: vec!["a".to_owned()], ..Change::default() };
        let text = serde_json::to_string(&change).unwrap();
        assert_eq!(text, r#"{"removed_files":["a"]}"#);
        assert_eq!(serde_json::from_str::<Change>(&text).unwrap(), change);
    }
}
