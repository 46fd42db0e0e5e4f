//! Archives and queries for tests.

pub(crate) mod objects;

use std::io::Write;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use tempfile::NamedTempFile;
use trace_format::layout::ObjectType;
use trace_format::{
    Argument, Arguments, Event, EventKind, KernelObject, Record, Thread, ThreadKoids, Value, Writer,
};

use crate::archive::Archive;
use crate::input::Input;
use crate::session::{self, QuerySession};
use crate::subject::Subject;

pub(crate) const THREAD: ThreadKoids = ThreadKoids::new(12, 34);

/// Returns an archive of provider 1, `app`, with these records. A tick is a nanosecond.
pub(crate) fn archive(records: &[Record<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(1, "app").unwrap();
    for record in records {
        writer.record(record).unwrap();
    }
    writer.into_inner()
}

/// Returns an event of the category `cat`.
pub(crate) fn event<'a>(
    name: &'a str,
    ticks: u64,
    kind: EventKind,
    arguments: impl Into<Arguments<'a>>,
) -> Record<'a> {
    let (thread, arguments) = (Thread::Inline(THREAD), arguments.into());
    let (category, name) = ("cat".into(), name.into());
    Record::Event(Event { ticks, thread, category, name, kind, arguments })
}

/// Returns a complete event.
pub(crate) fn complete(name: &str, from: u64, to: u64) -> Record<'_> {
    event(name, from, EventKind::DurationComplete { end: to }, &[])
}

/// Returns the name of a process, or of a thread in process 12.
pub(crate) fn named<'a>(
    object_type: ObjectType,
    koid: u64,
    name: &'a str,
    process: &'a [Argument<'a>],
) -> Record<'a> {
    let (name, arguments) = (name.into(), process.into());
    Record::KernelObject(KernelObject { object_type, koid, name, arguments })
}

/// Returns the argument of a thread's name.
pub(crate) fn of_process() -> [Argument<'static>; 1] {
    [Argument::new("process", Value::Koid(12))]
}

/// Returns the result of a query over an archive, a line for each row.
pub(crate) fn query(bytes: &[u8], sql: &str) -> Vec<String> {
    try_query(bytes, sql).unwrap_or_else(|error| panic!("{sql}: {error:#}"))
}

pub(crate) fn try_query(bytes: &[u8], sql: &str) -> anyhow::Result<Vec<String>> {
    let (_file, archive) = opened(bytes)?;
    session::runtime()?.block_on(query_of(&Subject::Archive(archive), sql))
}

/// Returns the result of the last statement of a text, a line for each row.
pub(crate) async fn query_of(subject: &Subject, sql: &str) -> anyhow::Result<Vec<String>> {
    let session = session::session(subject, session::DEFAULT_MEMORY).await?;
    query_in(&session, sql).await
}

/// Returns the result of the last statement of a text in a session.
pub(crate) async fn query_in(session: &QuerySession, sql: &str) -> anyhow::Result<Vec<String>> {
    let mut batches = Vec::new();
    for statement in session.statements(sql)? {
        batches = session.frame(statement).await?.collect().await?;
    }
    Ok(batches.iter().flat_map(lines).collect())
}

/// Returns an archive and its file, which is removed when it is dropped.
pub(crate) fn opened(bytes: &[u8]) -> anyhow::Result<(NamedTempFile, Arc<Archive>)> {
    let mut file = NamedTempFile::new()?;
    file.write_all(bytes)?;
    let archive = Arc::new(Archive::new(Input::new(file.path(), None)?));
    Ok((file, archive))
}

fn lines(batch: &RecordBatch) -> Vec<String> {
    let cell = |array, row| array_value_to_string(array, row).unwrap();
    let line = |row| -> Vec<String> { batch.columns().iter().map(|it| cell(it, row)).collect() };
    (0..batch.num_rows()).map(|row| line(row).join("|")).collect()
}
