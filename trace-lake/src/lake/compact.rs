//! `trace lake compact`: writes the small files of a partition as few large ones.
//!
//! Each large file replaces its small ones by one change. A query sees the files before or after
//! it, and one that has begun can read the small files until they are deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{bail, Result};
use datafusion::prelude::col;
use futures::StreamExt;

use super::add::sorted;
use super::amount::size;
use super::clean::{self, Begin};
use super::cli::CompactArgs;
use crate::exit::{FAILURE, OK};
use crate::message::{describe, say, tell};
use crate::session;
use crate::store::log::{self, Numbered};
use crate::store::snapshot::Snapshot;
use crate::store::state::{Change, FileEntry, State};
use crate::store::table::FILE_COLUMNS;
use crate::store::verify::verify;
use crate::store::{writer, Store};
use crate::subject::Subject;
use crate::tables::{Table, TABLES};

pub(super) async fn run(args: &CompactArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let memory = args.memory.saturating_mul(1 << 20);
    let done = compact(&store, args.file_size.saturating_mul(1 << 20), memory).await?;
    let deleted = clean::clean(&store, args.delete_after).await?;
    let failed = match done.failed {
        0 => String::new(),
        number => format!("; {number} compactions failed"),
    };
    tell(&format!(
        "{} files are now {} with {}; {deleted} unused files deleted{failed}",
        done.before,
        done.after,
        size(done.bytes)
    ));
    Ok(if done.failed == 0 { OK } else { FAILURE })
}

/// What a compaction did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compacted {
    /// The files that were replaced.
    pub(super) before: usize,
    /// Those that replace them.
    pub(super) after: usize,
    /// The bytes of those.
    pub(super) bytes: u64,
    /// The files that could not be written, because one of those that they replace is damaged, or
    /// the storage failed.
    pub(super) failed: usize,
}

/// Compacts all partitions to files of up to `target` bytes. Failures are reported, and the other
/// files are compacted.
pub(super) async fn compact(store: &Store, target: u64, memory: usize) -> Result<Compacted> {
    let state = log::existing(store).await?.state;
    let mut done = Compacted::default();
    for group in groups(&state, target) {
        let before = group.len();
        match replace(store, group, memory, &Begin::now()).await {
            Ok(Some(file)) => {
                done.before += before;
                done.after += 1;
                done.bytes += file.bytes;
            }
            Ok(None) => {}
            Err(error) => {
                say(&describe(error.as_ref()));
                done.failed += 1;
            }
        }
    }
    Ok(done)
}

/// Returns the files that are to be one, in the order of their times.
fn groups(state: &State, target: u64) -> Vec<Vec<FileEntry>> {
    let mut folders: BTreeMap<_, Vec<&FileEntry>> = BTreeMap::new();
    for file in state.files.values().filter(|file| file.bytes < target / 2) {
        folders.entry((&file.table, &file.partition)).or_default().push(file);
    }
    let mut groups = Vec::new();
    for mut files in folders.into_values() {
        files.sort_by_key(|file| (file.times, &file.path));
        let mut bytes = 0;
        let mut group = Vec::new();
        for file in files {
            if bytes + file.bytes > target {
                groups.push(std::mem::take(&mut group));
                bytes = 0;
            }
            bytes += file.bytes;
            group.push(file.clone());
        }
        groups.push(group);
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Writes files as one. Returns `None` if another writer has removed one of them meanwhile.
pub(super) async fn replace(
    store: &Store,
    old: Vec<FileEntry>,
    memory: usize,
    begin: &Begin,
) -> Result<Option<FileEntry>> {
    let Some(first) = old.first() else { return Ok(None) };
    let table = TABLES.into_iter().find(|table| table.name == first.table);
    let Some(table) = table else { bail!("{}: no table is named so", first.table) };
    // A damaged value can be decoded as another one, which the new file would have for good.
    for file in &old {
        verify(store, file).await?;
    }
    let Some(new) = merged(store, table, &old, memory).await? else {
        bail!("{}: the files have no rows", store.name_of(&first.path));
    };
    let rows: u64 = old.iter().map(|file| file.rows).sum();
    if new.rows != rows {
        let (name, found) = (store.name_of(&first.path), new.rows);
        clean::delete(store, vec![new]).await;
        bail!(
            "{name}: this file and those beside it have {found} rows, and not {rows} as recorded"
        );
    }
    if begin.is_long_ago() {
        let name = store.name_of(&first.path);
        clean::delete(store, vec![new]).await;
        bail!("{name}: it took so long to join files that the new one may be deleted as abandoned");
    }
    let committed = log::commit(store, |state| {
        let is_there = |file: &FileEntry| state.files.contains_key(&file.path);
        Ok(old.iter().all(is_there).then(|| Change {
            files: vec![new.clone()],
            removed_files: old.iter().map(|file| file.path.clone()).collect(),
            ..Change::default()
        }))
    });
    if committed.await?.is_some() {
        return Ok(Some(new));
    }
    clean::delete(store, vec![new]).await;
    Ok(None)
}

async fn merged(
    store: &Store,
    table: &'static Table,
    old: &[FileEntry],
    memory: usize,
) -> Result<Option<FileEntry>> {
    let files = old.iter().map(|file| (file.path.clone(), file.clone())).collect();
    let state = State { files, ..State::default() };
    let snapshot = Arc::new(Snapshot::new(store.clone(), Numbered { number: 0, state }));
    let context = session::tables(&Subject::Store(snapshot), memory)?;
    let columns = table.columns.iter().chain(&FILE_COLUMNS).map(|column| col(column.name));
    let frame = context.table(table.name).await?.select(columns.collect::<Vec<_>>())?;
    let rows = sorted(frame, table)?.execute_stream().await?;
    match old.first() {
        Some(first) => writer::write(store, table, &first.partition, rows.boxed()).await,
        None => Ok(None),
    }
}
