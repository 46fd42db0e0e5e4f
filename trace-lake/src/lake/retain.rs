//! `trace lake retain`: removes old archives.
//!
//! The archives of a day, a host and a service share files, so they are removed together, when all
//! of them are old.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use super::amount::size;
use super::clean;
use super::cli::{Limits, RetainArgs};
use crate::exit::OK;
use crate::message::tell;
use crate::store::log::{self, now};
use crate::store::state::{Change, Partition, State};
use crate::store::Store;

pub(super) async fn run(args: &RetainArgs) -> Result<u8> {
    let store = Store::open(&args.store)?;
    let removed = retain(&store, &args.limits, now()).await?;
    let deleted = clean::clean(&store, args.delete_after).await?;
    tell(&format!(
        "{} archives with {} removed; {deleted} unused files deleted",
        removed.archives,
        size(removed.bytes)
    ));
    Ok(OK)
}

/// What was removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    pub(super) archives: usize,
    pub(super) bytes: u64,
}

/// Removes what the limits do not keep.
pub(super) async fn retain(store: &Store, limits: &Limits, now_ns: i64) -> Result<Removed> {
    log::existing(store).await?;
    let mut removed = Removed::default();
    log::commit(store, |state| {
        let old = old(state, limits, now_ns);
        let is_old = |partition: &Partition| old.contains_key(partition);
        let archives = state.archives.values().filter(|it| is_old(&it.partition));
        let files = state.files.values().filter(|it| is_old(&it.partition));
        let change = Change {
            removed_archives: archives.map(|archive| archive.id.clone()).collect(),
            removed_files: files.map(|file| file.path.clone()).collect(),
            ..Change::default()
        };
        removed.archives = change.removed_archives.len();
        removed.bytes = old.values().map(|content| content.bytes).sum();
        Ok((change != Change::default()).then_some(change))
    })
    .await?;
    Ok(removed)
}

/// The content of a partition.
#[derive(Debug, Default)]
struct Content {
    last_ns: i64,
    bytes: u64,
}

/// Returns the partitions that the limits do not keep.
fn old<'a>(state: &'a State, limits: &Limits, now_ns: i64) -> BTreeMap<&'a Partition, Content> {
    let mut contents: BTreeMap<&Partition, Content> = BTreeMap::new();
    for archive in state.archives.values() {
        let content = contents.entry(&archive.partition).or_default();
        content.last_ns = content.last_ns.max(archive.last_ns());
    }
    for file in state.files.values() {
        contents.entry(&file.partition).or_default().bytes += file.bytes;
    }
    let age = |age: Duration| i64::try_from(age.as_nanos()).unwrap_or(i64::MAX);
    let before_ns = limits.older_than.map_or(i64::MIN, |it| now_ns.saturating_sub(age(it)));
    let mut bytes: u64 = contents.values().map(|content| content.bytes).sum();
    let mut by_age: Vec<_> = contents.into_iter().collect();
    by_age.sort_by_key(|(_, content)| content.last_ns);
    let is_kept = |content: &Content| {
        let is_kept =
            content.last_ns >= before_ns && limits.keep_bytes.is_none_or(|it| bytes <= it);
        if !is_kept {
            bytes -= content.bytes;
        }
        is_kept
    };
    let mut is_kept = is_kept;
    by_age.into_iter().filter(|(_, content)| !is_kept(content)).collect()
}
