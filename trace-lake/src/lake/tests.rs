//! Stores in memory: what additions, queries, compactions and removals leave.

mod broken;
mod changes;
mod queries;

use std::future::Future;
use std::io::Write;
use std::sync::Arc;

use clap::Parser;
use tempfile::NamedTempFile;
use trace_format::layout::InstantScope;
use trace_format::{Argument, Event, EventKind, Record, Thread, Value};

use super::add;
use super::check;
use super::clean;
use super::cli::{AddArgs, Command, LakeCli};
use crate::session::{self, QuerySession, DEFAULT_MEMORY};
use crate::store::log;
use crate::store::snapshot::Snapshot;
use crate::store::state::State;
use crate::store::Store;
use crate::subject::Subject;
use crate::testing::objects::TestObjects;
use crate::testing::{archive, query_of, THREAD};

/// 2026-11-29 00:00 in UTC, in nanoseconds since 1970.
const DAY: u64 = 1_795_910_400_000_000_000;

/// Runs a test on threads of the engine.
pub(super) fn run(test: impl Future<Output = ()>) {
    session::runtime().unwrap().block_on(test);
}

/// A store in memory.
pub(super) struct Place {
    objects: Arc<TestObjects>,
    pub(super) store: Store,
}

impl Place {
    pub(super) fn new() -> Self {
        Self::of(TestObjects::new())
    }

    /// Returns a copy, whose changes are its own.
    fn fork(&self) -> Self {
        Self::of(self.objects.fork())
    }

    fn of(objects: Arc<TestObjects>) -> Self {
        let store = Store::of_objects("mem://store", objects.clone());
        Self { objects, store }
    }

    /// Adds an archive with options of the command line.
    pub(super) async fn add(&self, records: &[Record<'_>], options: &[&str]) -> anyhow::Result<u8> {
        self.add_bytes(&archive(records), options).await
    }

    async fn add_bytes(&self, bytes: &[u8], options: &[&str]) -> anyhow::Result<u8> {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        add::add(&self.store, file.path(), &arguments(options)).await
    }

    async fn state(&self) -> State {
        log::newest(&self.store).await.unwrap().state
    }

    async fn query(&self, sql: &str) -> Vec<String> {
        self.try_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:#}"))
    }

    async fn try_query(&self, sql: &str) -> anyhow::Result<Vec<String>> {
        let snapshot = Snapshot::newest(self.store.clone()).await?;
        query_of(&Subject::Store(Arc::new(snapshot)), sql).await
    }

    /// Returns a session with what the store has now.
    async fn session(&self) -> QuerySession {
        let snapshot = Snapshot::newest(self.store.clone()).await.unwrap();
        session::session(&Subject::Store(Arc::new(snapshot)), DEFAULT_MEMORY).await.unwrap()
    }

    async fn compact(&self) -> super::compact::Compacted {
        super::compact::compact(&self.store, 128 << 20, DEFAULT_MEMORY).await.unwrap()
    }
}

/// Adds an archive to a store.
#[cfg(feature = "cluster")]
pub(super) async fn add_to(store: &Store, path: &std::path::Path) {
    add::add(store, path, &arguments(&[])).await.unwrap();
}

/// Returns the arguments of `trace lake add` with these options.
fn arguments(options: &[&str]) -> AddArgs {
    let fixed = ["trace lake", "add", "store", "archive"];
    match LakeCli::parse_from(fixed.iter().chain(options)).command {
        Command::Add(args) => args,
        other => panic!("{other:?}"),
    }
}

/// Returns an anchor that gives a time of the archive the time since 1970.
fn anchor<'a>(ticks: u64, argument: &'a [Argument<'a>; 1]) -> Record<'a> {
    Record::Event(Event {
        ticks,
        thread: Thread::Inline(THREAD),
        category: "trace".into(),
        name: "clock anchor".into(),
        kind: EventKind::Instant { scope: Some(InstantScope::Global) },
        arguments: (&argument[..]).into(),
    })
}

/// Returns the argument of an anchor.
fn realtime(nanos: u64) -> [Argument<'static>; 1] {
    [Argument::new("realtime_ns", Value::Uint64(nanos))]
}
