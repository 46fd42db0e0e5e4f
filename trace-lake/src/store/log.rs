//! The changes of a store.
//!
//! The change with number `n` is the object `log/n.json`. Every 32nd one has the whole
//! [`State`] in addition, so that a reader needs that one and those after it.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{anyhow, bail, Context, Result};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde::{Deserialize, Serialize};

use super::place::{Missing, CONDITION, LOG};
use super::state::{Change, State};
use super::Store;
use crate::message::HINT;
use crate::tables::SCHEMA_VERSION;

/// The version of the store's layout.
const LAYOUT_VERSION: u32 = 1;

/// A change whose number is a multiple of this has the whole state.
const WHOLE: u64 = 32;

/// The changes that are read at once.
const READS: usize = 8;

/// A change, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    layout_version: u32,
    /// The version of the tables.
    schema_version: u32,
    /// The time of the change since 1970 in nanoseconds.
    written_ns: i64,
    /// Which writer wrote it: a storage can report that an object exists that the writer itself has
    /// created, if the first answer was lost.
    writer: String,
    change: Change,
    /// The state after the change.
    state: Option<State>,
    /// The writers of the changes from the last whole state on, in an entry with the whole state:
    /// the changes that it includes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writers: Vec<String>,
}

/// The versions of an entry, which are read before the rest.
#[derive(Debug, Deserialize)]
struct Versions {
    layout_version: u32,
    schema_version: u32,
}

/// A state with the number of its last change; 0 is that of an empty store.
#[derive(Debug, Clone, Default)]
pub struct Numbered {
    /// The number.
    pub number: u64,
    /// The state.
    pub state: State,
}

/// The newest state, with what the next change needs to know.
#[derive(Default)]
struct Newest {
    numbered: Numbered,
    /// The writers of the changes that were read.
    writers: Vec<String>,
}

/// Returns the time since 1970 in nanoseconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the newest state.
///
/// # Errors
///
/// The store cannot be read, a change is damaged, or another version of this program wrote it.
pub async fn newest(store: &Store) -> Result<Numbered> {
    Ok(newest_with_writers(store).await?.numbered)
}

async fn newest_with_writers(store: &Store) -> Result<Newest> {
    match read_newest(store).await {
        // A cleaner may have deleted it after it was listed.
        Err(error) if error.is::<Missing>() => read_newest(store).await,
        newest => newest,
    }
}

async fn read_newest(store: &Store) -> Result<Newest> {
    let numbers = numbers(store).await?;
    match numbers.last().copied() {
        Some(last) => read_until(store, &numbers, last).await,
        None => Ok(Newest::default()),
    }
}

/// Returns the state after a change.
///
/// # Errors
///
/// As [`newest`], or the change does not exist.
pub(crate) async fn at(store: &Store, number: u64) -> Result<Numbered> {
    let numbers = numbers(store).await?;
    Ok(read_until(store, &numbers, number).await?.numbered)
}

/// Returns the state after the change `last`. `numbers` are those of all changes.
async fn read_until(store: &Store, numbers: &[u64], last: u64) -> Result<Newest> {
    let first = last - last % WHOLE;
    if let Some(missing) = (first.max(1)..=last).find(|n| numbers.binary_search(n).is_err()) {
        let name = store.name_of(path(missing).as_ref());
        return Err(Missing(format!("{name}: the change is missing")).into());
    }
    let reads = (first.max(1)..=last).map(|number| read(store, number));
    let mut entries = futures::stream::iter(reads).buffered(READS);
    let (mut state, mut writers, mut is_first) = (State::default(), Vec::new(), true);
    while let Some(entry) = entries.try_next().await? {
        match entry.state {
            Some(whole) => state = whole,
            None if is_first && first > 0 => {
                bail!("{}: the change has no state", store.name_of(path(first).as_ref()));
            }
            None => state.apply(&entry.change, entry.written_ns),
        }
        writers.push(entry.writer);
        is_first = false;
    }
    Ok(Newest { numbered: Numbered { number: last, state }, writers })
}

/// Returns the newest state of a store that has one.
///
/// # Errors
///
/// As [`newest`], or the place is not a store.
pub async fn existing(store: &Store) -> Result<Numbered> {
    let newest = newest(store).await?;
    if newest.number == 0 {
        bail!("{} is not a store{HINT}`trace lake add {0} ARCHIVE` creates one", store.name());
    }
    Ok(newest)
}

/// Writes the change that `make` returns for the newest state, or nothing if it returns `None`. If
/// another writer is faster, `make` gets the state after that one's change, also if that change has
/// been deleted since, because a later one has the whole state. In a folder, the new files are
/// written to the disk before, and the change after. Returns the number of the change.
///
/// # Errors
///
/// `make` failed, or the store cannot be read or written. If the answer to the write was lost, or
/// the change cannot be written to the disk, it may exist.
pub async fn commit(
    store: &Store,
    mut make: impl FnMut(&State) -> Result<Option<Change>>,
) -> Result<Option<u64>> {
    let writer = writer();
    loop {
        let Newest { numbered: Numbered { number, mut state }, writers } =
            newest_with_writers(store).await?;
        let Some(change) = make(&state)? else { return Ok(None) };
        // Nothing that a change names may be lost while the change is kept.
        store.sync(change.files.iter().map(|file| file.path.clone())).await?;
        let (number, written_ns) = (number + 1, now());
        state.apply(&change, written_ns);
        let entry = Entry {
            layout_version: LAYOUT_VERSION,
            schema_version: SCHEMA_VERSION,
            written_ns,
            writer: writer.clone(),
            change,
            state: (number % WHOLE == 0).then_some(state),
            writers: if number % WHOLE == 0 { writers } else { Vec::new() },
        };
        let bytes = serde_json::to_vec(&entry).context("cannot write the change as JSON")?;
        let (path, bytes) = (path(number), Bytes::from(bytes));
        let is_created = store.create_object(&path, bytes.clone()).await?;
        if is_created && number == 1 {
            refuse_replacement(store, &path, bytes).await?;
        }
        let is_ours = is_created
            || match read(store, number).await {
                Ok(other) => other.writer == writer,
                // Another writer was faster, and a cleaner has deleted its change.
                Err(error) if error.is::<Missing>() => false,
                Err(error) => return Err(error),
            };
        if is_ours && is_included(store, number, &writer).await? {
            store.sync([path.to_string()]).await?;
            return Ok(Some(number));
        }
    }
}

/// Returns whether a change that now exists is one of the store. It is not if other writers had
/// created, replaced and deleted a change of this number before: no reader finds this one.
async fn is_included(store: &Store, number: u64, writer: &str) -> Result<bool> {
    let is_later_whole = |other: &u64| *other > number && other.is_multiple_of(WHOLE);
    match numbers(store).await?.into_iter().find(is_later_whole) {
        None => Ok(true),
        Some(whole) if whole == number - number % WHOLE + WHOLE => {
            Ok(read(store, whole).await?.writers.iter().any(|other| other == writer))
        }
        Some(whole) => bail!(
            "{}: more than {WHOLE} changes followed until the {whole}th, so this one may be \
             ignored{HINT}run the command again, which changes nothing twice",
            store.name_of(path(number).as_ref())
        ),
    }
}

/// Fails if the storage creates an object that exists: changes of other writers would be lost.
async fn refuse_replacement(store: &Store, path: &Path, bytes: Bytes) -> Result<()> {
    if !store.create_object(path, bytes).await? {
        return Ok(());
    }
    // The place is not a store without its first change.
    let deleted = store.objects().delete(path).await;
    deleted.map_err(|error| store.failed("delete", path.as_ref(), error))?;
    bail!(
        "cannot write {}: the storage replaces objects that exist{HINT}{CONDITION}",
        store.name_of(path.as_ref())
    )
}

/// Returns the paths of changes that no reader needs, which a later one with the whole state of
/// before this time replaces.
pub(crate) async fn replaced(store: &Store, before_ns: i64) -> Result<Vec<Path>> {
    let numbers = numbers(store).await?;
    let mut whole = numbers.iter().rev().copied().filter(|number| number % WHOLE == 0);
    let first_needed = loop {
        let Some(number) = whole.next() else { return Ok(Vec::new()) };
        if read(store, number).await?.written_ns < before_ns {
            break number;
        }
    };
    Ok(numbers.into_iter().filter(|number| *number < first_needed).map(path).collect())
}

/// Returns the path of a change.
fn path(number: u64) -> Path {
    Path::from_iter([LOG, &format!("{number:020}.json")])
}

/// Returns a name that no other writer has.
fn writer() -> String {
    super::names::random()
}

/// Returns the numbers of all changes, in their order.
async fn numbers(store: &Store) -> Result<Vec<u64>> {
    let folder = Path::from(LOG);
    let objects = store.objects().list(Some(&folder)).try_collect::<Vec<_>>().await;
    let objects = objects.map_err(|error| store.failed("list", LOG, error))?;
    let number = |found: &Path| {
        let number = found.filename()?.strip_suffix(".json")?.parse::<u64>().ok()?;
        // Files of other names are foreign.
        (path(number).filename() == found.filename()).then_some(number)
    };
    let mut numbers: Vec<u64> = objects.iter().filter_map(|it| number(&it.location)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

async fn read(store: &Store, number: u64) -> Result<Entry> {
    let path = path(number);
    let bytes = store.read(&path).await?;
    let name = store.name_of(path.as_ref());
    let damaged = |error| anyhow!("{name}: not a change of a store: {error}");
    let versions: Versions = serde_json::from_slice(&bytes).map_err(damaged)?;
    for (what, found, known) in [
        ("layout", versions.layout_version, LAYOUT_VERSION),
        ("tables", versions.schema_version, SCHEMA_VERSION),
    ] {
        if found != known {
            bail!(
                "{name}: the {what} have version {found}, and this program knows version {known}\
                 {HINT}use the program that wrote the store, or add the archives to a new one"
            );
        }
    }
    serde_json::from_slice(&bytes).map_err(damaged)
}
