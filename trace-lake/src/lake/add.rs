//! `trace lake add`: writes the tables of an archive to a store.
//!
//! The id of an archive is a hash of its bytes, so one that is added again changes nothing. Numbers
//! that the tables give (`id`, `thread_id` and so on) get a number of the archive in their upper
//! bits, so that they differ in all archives of a store, and join its tables and views as those of
//! one archive do. Times become those since 1970.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use anyhow::{bail, Context, Result};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::{binary_expr, Case, Expr, Operator};
use datafusion::prelude::{col, lit, SessionContext};
use datafusion::scalar::ScalarValue;
use futures::StreamExt;
use sha2::{Digest, Sha256};
use trace_convert::visible;

use super::clean::{self, Begin};
use super::cli::AddArgs;
use super::labels::Labels;
use crate::archive::Archive;
use crate::damage;
use crate::exit::{FAILURE, INCOMPLETE, OK};
use crate::input::Input;
use crate::lake::amount::size;
use crate::message::{describe, say, tell, HINT};
use crate::session;
use crate::store::log::{self, now};
use crate::store::state::{ArchiveEntry, Change, FileEntry, Partition, State};
use crate::store::{writer, Store};
use crate::subject::Subject;
use crate::tables::{Table, TABLES};
use crate::times::SATURATED;

/// The bits of ids below the number of their archive: an archive has fewer records.
const NUMBER_SHIFT: u32 = 40;

/// The greatest number of an archive, with which ids have 63 bits.
const MAX_NUMBER: u64 = (1 << 23) - 1;

/// The columns with numbers that this crate gives.
const IDS: [&str; 8] = [
    "id",
    "parent_id",
    "span_id",
    "owner_id",
    "track_id",
    "thread_id",
    "process_id",
    "waker_thread_id",
];

/// The columns with times of the archive's clock.
const TIMES: [&str; 5] = ["start_ns", "end_ns", "time_ns", "from_ns", "to_ns"];

/// The columns after the time by which rows are sorted, as far as a table has them.
const KEYS: [&str; 3] = ["id", "owner_id", "key"];

pub(super) async fn run(args: &AddArgs) -> Result<u8> {
    let store = Store::create(&args.store)?;
    let mut codes = Vec::new();
    for path in &args.archives {
        codes.push(add(&store, path, args).await.unwrap_or_else(|error| {
            say(&describe(error.as_ref()));
            FAILURE
        }));
    }
    Ok([FAILURE, INCOMPLETE].into_iter().find(|code| codes.contains(code)).unwrap_or(OK))
}

/// Adds an archive. Returns the exit status.
pub(super) async fn add(store: &Store, path: &Path, args: &AddArgs) -> Result<u8> {
    let input = Input::new(path, args.instr_map.as_deref())?;
    add_opened(store, Arc::new(Archive::new(input)), args).await
}

/// Adds an archive that is open. Returns the exit status.
pub(super) async fn add_opened(store: &Store, archive: Arc<Archive>, args: &AddArgs) -> Result<u8> {
    let changed_ns = changed(archive.input());
    let name = archive.input().path().display();
    let id = id(&archive).await.with_context(|| format!("cannot read {name}"))?;
    loop {
        let state = log::newest(store).await?.state;
        if state.archives.contains_key(&id) {
            tell(&format!("{id}  {name}: already in {}", store.name()));
            return Ok(OK);
        }
        let number = unused(&used(&state), &id, MAX_NUMBER);
        let number = number.with_context(|| {
            format!(
                "cannot add {name}: {} has {MAX_NUMBER} archives{HINT}use another store",
                store.name()
            )
        })?;
        let entry = entry(&archive, &id, args, changed_ns, number).await;
        let entry = entry.with_context(|| format!("cannot add {name}"))?;
        // Else another writer has added the archive, or used its number.
        if let Some(files) = write(store, &archive, &entry, args.memory).await? {
            tell(&summary(&entry, &files));
            return Ok(damage::warn(&archive));
        }
    }
}

/// Returns what is printed of an archive that was added.
fn summary(entry: &ArchiveEntry, files: &[FileEntry]) -> String {
    let rows: u64 = files.iter().map(|file| file.rows).sum();
    let bytes = size(files.iter().map(|file| file.bytes).sum());
    let ArchiveEntry { id, path, partition: Partition { day, host, service }, .. } = entry;
    let [path, host, service] = [path, host, service].map(|text| visible(text));
    format!("{id}  {path}: {rows} rows, {bytes}, {day}, host {host}, service {service}")
}

/// Returns the time of a file's last change since 1970 in nanoseconds, or the current time.
fn changed(input: &Input) -> i64 {
    let changed = input.changed().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    changed.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_else(now)
}

/// Returns the id of an archive.
async fn id(archive: &Arc<Archive>) -> Result<String> {
    let archive = archive.clone();
    tokio::task::spawn_blocking(move || {
        let mut content = archive.input().content();
        let (mut hash, mut room) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            match content.read(&mut room)? {
                0 => break,
                count => hash.update(&room[..count]),
            }
        }
        Ok(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    })
    .await?
}

/// Returns a number up to `greatest` that is not used, or `None` if all are. It follows from the
/// id, so that an archive has the same ids in nearly all stores, and that writers at the same time
/// have different numbers.
fn unused(used: &HashSet<i64>, id: &str, greatest: u64) -> Option<i64> {
    let seed = id.get(..16).and_then(|id| u64::from_str_radix(id, 16).ok()).unwrap_or(0);
    let first = seed % greatest;
    let numbers = (first..greatest).chain(0..first);
    let mut numbers = numbers.filter_map(|it| i64::try_from(it + 1).ok());
    numbers.find(|number| !used.contains(number))
}

/// Returns the numbers of archives.
fn used(state: &State) -> HashSet<i64> {
    state.archives.values().map(|archive| archive.number).collect()
}

async fn entry(
    archive: &Arc<Archive>,
    id: &str,
    args: &AddArgs,
    changed_ns: i64,
    number: i64,
) -> Result<ArchiveEntry> {
    let read = archive.clone();
    tokio::task::spawn_blocking(move || read.directory().map(|_| ())).await??;
    let labels = Labels::new(args, archive.directory()?, changed_ns)?;
    Ok(ArchiveEntry {
        id: id.to_owned(),
        number,
        path: archive.input().path().display().to_string(),
        partition: labels.partition,
        version: labels.version,
        clock: labels.clock,
        shift_ns: labels.shift_ns,
        start_ns: labels.extent.map(|(first, _)| first),
        end_ns: labels.extent.map(|(_, last)| last),
        added_ns: now(),
    })
}

/// Writes the tables of an archive, and then the change that makes them visible. Returns the files,
/// or `None` if another writer has added the archive or used its number meanwhile.
async fn write(
    store: &Store,
    archive: &Arc<Archive>,
    entry: &ArchiveEntry,
    memory_mib: usize,
) -> Result<Option<Vec<FileEntry>>> {
    let begin = Begin::now();
    let memory = memory_mib.saturating_mul(1 << 20);
    let context = session::tables(&Subject::Archive(archive.clone()), memory)?;
    let mut files = Vec::new();
    for table in TABLES {
        let rows = rows(&context, table, entry).await?.execute_stream().await?;
        match writer::write(store, table, &entry.partition, rows.boxed()).await {
            Ok(file) => files.extend(file),
            Err(error) => {
                clean::delete(store, files).await;
                return Err(error);
            }
        }
    }
    // The id is that of the bytes which were read first.
    if let Err(error) = archive.input().check_unchanged() {
        clean::delete(store, files).await;
        return Err(error);
    }
    if begin.is_long_ago() {
        bail!("the addition took so long that its files may be deleted as abandoned");
    }
    let committed = log::commit(store, |state| {
        let is_known =
            state.archives.contains_key(&entry.id) || used(state).contains(&entry.number);
        let (archives, files) = (vec![entry.clone()], files.clone());
        Ok((!is_known).then(|| Change { archives, files, ..Change::default() }))
    });
    if committed.await?.is_some() {
        return Ok(Some(files));
    }
    clean::delete(store, files).await;
    Ok(None)
}

/// Returns the rows of a table, as the store has them.
async fn rows(context: &SessionContext, table: &Table, entry: &ArchiveEntry) -> Result<DataFrame> {
    let columns = table.columns.iter().map(|it| column(it.name, entry));
    let version = ScalarValue::Utf8(entry.version.clone());
    let labels = [lit(&*entry.id).alias("archive"), lit(version).alias("version")];
    let frame = context.table(table.name).await?;
    sorted(frame.select(columns.chain(labels).collect::<Vec<_>>())?, table)
}

/// Sorts the rows of a table by time, else by its ids.
pub(super) fn sorted(frame: DataFrame, table: &Table) -> Result<DataFrame> {
    let has = |name: &&str| table.columns.iter().any(|column| column.name == *name);
    let keys = table.time.into_iter().chain(KEYS.into_iter().filter(has));
    let keys: Vec<_> = keys.map(|key| col(key).sort(true, false)).collect();
    Ok(if keys.is_empty() { frame } else { frame.sort(keys)? })
}

fn column(name: &str, entry: &ArchiveEntry) -> Expr {
    if IDS.contains(&name) {
        let number = lit(entry.number << NUMBER_SHIFT);
        return binary_expr(col(name), Operator::BitwiseXor, number).alias(name);
    }
    if TIMES.contains(&name) {
        return shifted(name, entry.shift_ns).alias(name);
    }
    col(name)
}

/// Returns a time of the store. A saturated one stays so.
fn shifted(name: &str, shift_ns: i64) -> Expr {
    let is_saturated = col(name).eq(lit(SATURATED));
    let when = vec![(Box::new(is_saturated), Box::new(lit(SATURATED)))];
    let time = col(name) + lit(shift_ns);
    Expr::Case(Case::new(None, when, Some(Box::new(time))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_for_a_number_ends() {
        let id = format!("{:016x}rest", 8);
        assert_eq!(unused(&HashSet::new(), &id, 5), Some(4));
        assert_eq!(unused(&[4, 5, 1].into(), &id, 5), Some(2));
        assert_eq!(unused(&(1..=5).collect(), &id, 5), None);
    }
}
