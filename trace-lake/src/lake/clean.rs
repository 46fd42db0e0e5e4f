//! Deleting files that no query reads.

use std::collections::HashSet;
use std::path::Path as FilePath;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::ObjectStore;

use crate::store::log::{self, now};
use crate::store::place::LOG;
use crate::store::state::{Change, FileEntry, State};
use crate::store::{names, Store};
use crate::tables::TABLES;

/// The age of a file that no change names, after which its writer is dead.
pub(super) const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// The begin of an addition, or of writing a file of a compaction.
#[derive(Debug)]
pub(super) struct Begin {
    running: Instant,
    /// The time of cleaners, which also passes while the machine is suspended.
    wall: SystemTime,
}

impl Begin {
    pub(super) fn now() -> Self {
        Self { running: Instant::now(), wall: SystemTime::now() }
    }

    #[cfg(test)]
    pub(super) fn long_ago() -> Self {
        Self { wall: SystemTime::now() - ABANDONED, ..Self::now() }
    }

    /// Returns whether the files since then may be old enough to be deleted soon.
    pub(super) fn is_long_ago(&self) -> bool {
        let by_wall = self.wall.elapsed().unwrap_or_default();
        self.running.elapsed().max(by_wall) > ABANDONED / 2
    }
}

/// Deletes files that were removed before this time, changes that no reader needs, and what dead
/// writers left. Returns the number of deleted files.
pub(super) async fn clean(store: &Store, after: Duration) -> Result<usize> {
    let age = i64::try_from(after.as_nanos()).unwrap_or(i64::MAX);
    let before_ns = now().saturating_sub(age);
    let state = log::existing(store).await?.state;
    let is_due = |removed_ns: i64| removed_ns <= before_ns;
    let removed = state.removed.iter().filter(|(_, removed_ns)| is_due(**removed_ns));
    let deleted_files: Vec<String> = removed.map(|(path, _)| path.clone()).collect();
    let removed: Vec<Path> = deleted_files.iter().map(|path| names::path(path)).collect();
    let mut count = delete_all(store, removed).await?;
    if !deleted_files.is_empty() {
        // Two cleaners may delete the same files, which changes nothing.
        let change = Change { deleted_files, ..Change::default() };
        log::commit(store, |_| Ok(Some(change.clone()))).await?;
    }
    count += delete_all(store, abandoned(store, &state).await?).await?;
    count += delete_all(store, log::replaced(store, before_ns).await?).await?;
    if let Some(folder) = store.folder() {
        count += delete_parts(folder);
    }
    Ok(count)
}

/// Deletes the files of a writer that did not finish. What remains is deleted as abandoned.
pub(super) async fn delete(store: &Store, files: Vec<FileEntry>) {
    let paths = files.iter().map(|file| names::path(&file.path)).collect();
    let _ = delete_all(store, paths).await;
}

/// Returns the files of dead writers. What is not named as a file of a store is not one.
async fn abandoned(store: &Store, state: &State) -> Result<Vec<Path>> {
    let known: HashSet<Path> =
        state.files.keys().chain(state.removed.keys()).map(|path| names::path(path)).collect();
    let oldest = SystemTime::now() - ABANDONED;
    let mut abandoned = Vec::new();
    for table in TABLES {
        let folder = Path::from(table.name);
        let mut objects = store.objects().list(Some(&folder));
        while let Some(object) = objects.next().await {
            let object = object.map_err(|error| store.failed("list", table.name, error))?;
            let is_old = SystemTime::from(object.last_modified) < oldest;
            let path = object.location;
            if is_old && names::is_file(path.as_ref()) && !known.contains(&path) {
                abandoned.push(path);
            }
        }
    }
    Ok(abandoned)
}

async fn delete_all(store: &Store, paths: Vec<Path>) -> Result<usize> {
    let count = paths.len();
    let paths = futures::stream::iter(paths.into_iter().map(Ok)).boxed();
    let deleted = store.objects().delete_stream(paths).map(|deleted| match deleted {
        Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    });
    let deleted = deleted.try_collect::<Vec<()>>().await;
    deleted.map_err(|error| store.failed("delete files of", "", error))?;
    Ok(count)
}

/// Deletes the incomplete files and changes of dead writers in the folder of a store. Returns their
/// number. Errors are ignored: the next cleaner tries again.
fn delete_parts(store: &FilePath) -> usize {
    let folders = TABLES.iter().map(|table| table.name).chain([LOG]);
    folders.map(|folder| delete_parts_in(store, &store.join(folder))).sum()
}

fn delete_parts_in(store: &FilePath, folder: &FilePath) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let mut count = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            count += delete_parts_in(store, &path);
            continue;
        }
        let name = path.strip_prefix(store).ok().and_then(FilePath::to_str);
        let age = metadata.modified().ok().and_then(|changed| changed.elapsed().ok());
        if name.is_some_and(names::is_part) && age.is_some_and(|age| age > ABANDONED) {
            count += usize::from(std::fs::remove_file(path).is_ok());
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_addition_passes_while_the_machine_is_suspended() {
        assert!(!Begin::now().is_long_ago());
        assert!(Begin::long_ago().is_long_ago());
        // Somebody has set the clock.
        assert!(!Begin { wall: SystemTime::now() + ABANDONED, ..Begin::now() }.is_long_ago());
    }
}
