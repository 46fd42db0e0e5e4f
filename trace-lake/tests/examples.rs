//! Runs the SQL of `docs/query.md` on an archive, and that of `docs/lake.md` on a store.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::util::pretty::pretty_format_batches;
use tempfile::TempDir;
use trace_format::layout::InstantScope;
use trace_format::{Argument, Event, EventKind, Thread, ThreadKoids, Value, Writer};
use trace_lake::archive::Archive;
use trace_lake::input::Input;
use trace_lake::session::{self, QuerySession, DEFAULT_MEMORY};
use trace_lake::store::snapshot::Snapshot;
use trace_lake::store::Store;
use trace_lake::subject::Subject;

const MILLI: u64 = 1_000_000;

/// The first line of examples for another program.
const DUCKDB: &str = "-- duckdb";

/// Returns an archive of seven seconds that has rows for each example. Two threads flush and query
/// at the same time, some of them beyond the ends of seconds.
fn archive() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    let mut event = |koid, name: &str, millis: u64, kind, arguments: &[Argument<'_>]| {
        let (ticks, thread) = (millis * MILLI, Thread::Inline(ThreadKoids::new(12, koid)));
        let (category, name, arguments) = ("app".into(), name.into(), arguments.into());
        let event = Event { ticks, thread, category, name, kind, arguments };
        writer.record(&event.into()).unwrap();
    };
    let until = |millis| EventKind::DurationComplete { end: millis * MILLI };
    let url = [Argument::new("url", Value::String("/cart".into()))];
    event(34, "start", 0, EventKind::Instant { scope: Some(InstantScope::Global) }, &[]);
    // It does not end, so it is not the longest span, and is around that.
    event(34, "main", 50, EventKind::DurationBegin, &[]);
    event(34, "request", 100, EventKind::AsyncBegin { id: 8 }, &url);
    event(34, "request", 100, until(6_900), &url);
    for (from, to) in [(1_500, 3_200), (4_000, 4_000), (4_900, 5_100)] {
        event(34, "flush", from, until(to), &[]);
    }
    for (from, to) in [(900, 1_600), (2_000, 2_500), (3_100, 4_400), (5_000, 5_900)] {
        event(35, "query", from, until(to), &[]);
    }
    event(34, "request", 6_900, EventKind::AsyncEnd { id: 8 }, &[]);
    event(34, "end", 7_000, EventKind::Instant { scope: Some(InstantScope::Global) }, &[]);
    writer.into_inner()
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    fs::read_to_string(path).unwrap()
}

/// Returns the parts of a page that have this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("\n```{language}\n");
    let blocks = page.split(&*begin).skip(1);
    blocks.map(|rest| rest.split_once("\n```").expect("a block has an end").0).collect()
}

/// Returns the examples in SQL: those of their own, and those of a command line.
fn examples(page: &str) -> (Vec<&str>, usize) {
    let (others, mut own): (Vec<_>, Vec<_>) =
        blocks(page, "sql").into_iter().partition(|block| block.starts_with(DUCKDB));
    for block in blocks(page, "sh") {
        own.extend(block.split('"').filter(|text| text.starts_with("SELECT ")));
    }
    (own, others.len())
}

/// Runs statements, and returns the result of each one as text.
async fn results(session: &QuerySession, sql: &str) -> Vec<String> {
    let mut results = Vec::new();
    for statement in session.statements(sql).unwrap_or_else(|error| panic!("{sql}: {error}")) {
        let frame = session.frame(statement).await;
        let frame = frame.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let batches = frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
        assert!(rows > 0, "no rows of: {sql}");
        results.push(pretty_format_batches(&batches).unwrap().to_string());
    }
    results
}

#[test]
fn the_examples_of_queries_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.fxt");
    fs::write(&path, archive()).unwrap();
    let subject = Subject::Archive(Arc::new(Archive::new(Input::new(&path, None).unwrap())));
    let page = page("query.md");
    let (examples, others) = examples(&page);
    assert_eq!((examples.len(), others), (8, 1));
    session::runtime().unwrap().block_on(async {
        let session = session::session(&subject, DEFAULT_MEMORY).await.unwrap();
        let mut overlaps = Vec::new();
        for sql in examples {
            let results = results(&session, sql).await;
            overlaps.extend(sql.contains("overlap_ns").then_some(results));
        }
        assert_eq!(overlaps.len(), 2, "that of all pairs, and that of pairs in one second");
        assert_eq!(overlaps[0], overlaps[1]);
        assert!(overlaps[0][0].contains("| flush | query  | 800.0 |"), "{}", overlaps[0][0]);
    });
}

fn store(folder: &TempDir) -> String {
    fs::write(folder.path().join("app.fxt"), archive()).unwrap();
    let mut add = Command::new(env!("CARGO_BIN_EXE_trace-query"));
    add.args(["--lake", "add", "store", "app.fxt", "--host", "web-1"]);
    add.args(["--time", "2026-11-29T10:00:00Z"]).current_dir(folder.path());
    assert!(add.output().unwrap().status.success());
    folder.path().join("store").to_str().unwrap().to_owned()
}

#[test]
fn the_examples_of_stores_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let page = page("lake.md");
    let (examples, others) = examples(&page);
    assert_eq!((examples.len(), others), (2, 1));
    session::runtime().unwrap().block_on(async {
        let snapshot = Snapshot::newest(Store::open(&store).unwrap()).await.unwrap();
        let subject = Subject::Store(Arc::new(snapshot));
        let session = session::session(&subject, DEFAULT_MEMORY).await.unwrap();
        for sql in examples {
            results(&session, sql).await;
        }
    });
}
