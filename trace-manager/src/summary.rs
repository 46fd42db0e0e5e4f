//! What a session has come to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use trace_format::notes::{Missing, Omission};
use trace_protocol::buffer::consumer::Rejection;
use trace_protocol::categories::CategorySet;

use crate::error::{ArchiveError, ManagerError};
use crate::machine::{End, SessionState};

/// How a running session is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Where it stands.
    pub state: SessionState,
    /// Time since it was started.
    pub elapsed: Duration,
    /// Providers that are in it now.
    pub providers: usize,
    /// Providers that were ever in it.
    pub joined: usize,
    /// Events collected so far. Oneshot and circular buffers are collected at the end.
    pub events: u64,
    /// Bytes of the archive written so far.
    pub bytes: u64,
    /// Records dropped so far.
    pub lost: u64,
    /// What went wrong with the archive, if something did. The session goes on without it.
    pub archive_failure: Option<String>,
}

/// What a session has come to.
#[derive(Debug)]
pub struct SessionSummary {
    /// From start to end.
    pub duration: Duration,
    /// The providers that took part, in the order in which they joined.
    pub providers: Vec<ProviderSummary>,
    /// Providers that could not take part, and why; the first 100.
    pub refused: Vec<Refusal>,
    /// How often providers could not take part, those beyond the first 100 too.
    pub refusals: u64,
    /// How often providers raised each alert; the first 1000 names.
    pub alerts: BTreeMap<String, u64>,
    /// The alert that stopped the session, if one did.
    pub stopped_by: Option<String>,
    /// The snapshots that alerts have asked for, in order.
    pub snapshots: Vec<SnapshotSummary>,
    /// The category patterns that were asked for.
    pub categories: Vec<String>,
    /// The archive's size in bytes, or why it is not complete.
    pub archive: Result<u64, ArchiveError>,
    /// The same of the other sinks, in their order.
    pub sinks: Vec<Result<u64, ArchiveError>>,
}

impl SessionSummary {
    /// Returns the number of events in the archive.
    pub fn events(&self) -> u64 {
        self.providers.iter().map(|provider| provider.events).sum()
    }

    /// Returns the number of records dropped, as far as the providers say the truth.
    pub fn lost(&self) -> u64 {
        self.providers.iter().fold(0, |sum, provider| provider.dropped.saturating_add(sum))
    }

    /// Returns what the archive lacks. A check of the archive comes to the same.
    pub fn missing(&self) -> Missing {
        let mut missing = Missing { records: self.lost(), ..Missing::default() };
        for provider in &self.providers {
            for (omission, number) in &provider.omitted {
                missing.omit(*omission, *number);
            }
            for (_, number) in &provider.rejected {
                missing.omit(Omission::Refused, *number);
            }
        }
        missing
    }

    /// Returns the category patterns for which no provider had an event.
    pub fn categories_without_events(&self) -> Vec<String> {
        let categories = self.providers.iter().flat_map(|provider| provider.categories.keys());
        let categories: Vec<&String> = categories.collect();
        let asked = CategorySet::new(&self.categories);
        asked.unmatched(&categories).into_iter().map(str::to_owned).collect()
    }
}

/// A snapshot that alerts have asked for.
#[derive(Debug)]
pub struct SnapshotSummary {
    /// Where it is.
    pub path: PathBuf,
    /// The alerts that it is for.
    pub alerts: Vec<String>,
    /// Its size in bytes, or why there is none.
    pub archive: Result<u64, ManagerError>,
}

/// What one provider has contributed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSummary {
    /// Its id in the archive.
    pub id: u32,
    /// Its process, as the kernel says.
    pub pid: u32,
    /// Its process's user, as the kernel says.
    pub uid: u32,
    /// Its name.
    pub name: String,
    /// Records in the archive, without those that the manager wrote.
    pub records: u64,
    /// Event records among them.
    pub events: u64,
    /// Bytes in the archive.
    pub bytes: u64,
    /// Records that it dropped for want of room.
    pub dropped: u64,
    /// What it left out without dropping a record, with how many they are.
    pub omitted: Vec<(Omission, u64)>,
    /// Records that were refused, for each reason that occurred.
    pub rejected: Vec<(Rejection, u64)>,
    /// Events by category.
    pub categories: BTreeMap<String, u64>,
    /// Categories that it said it knows.
    pub known_categories: Vec<String>,
    /// Scopes that were begun and had not ended.
    pub open_scopes: u64,
    /// Rolling buffers that younger ones overwrote, in circular mode.
    pub overwritten: u32,
    /// Whether it answered to the start.
    pub answered_start: bool,
    /// Whether it answered to the stop.
    pub answered_stop: bool,
    /// The size of its buffer in bytes.
    pub buffer_size: u64,
    /// How it ended.
    pub end: End,
}

/// A provider that could not take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its process.
    pub pid: u32,
    /// Its name; empty when it did not come to tell.
    pub name: String,
    /// Why.
    pub reason: String,
}
