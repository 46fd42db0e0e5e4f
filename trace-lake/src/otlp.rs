//! Export to OpenTelemetry: OTLP, for spans and operations that have trace ids.
//!
//! A span has a context if it has an argument `trace_id`, or `traceparent` with the header of its
//! caller, or if it is in a span that has one. Its span id is the argument `span_id`, or is made of
//! its ids. Its parent is the argument `parent_span_id`, or the span of the header, or the span
//! around it.
//!
//! The file is a message `TracesData`, whose bytes are also those of the request
//! `ExportTraceServiceRequest`. It is written in pieces: messages of Protocol Buffers are joined by
//! joining their bytes.
//!
//! - `context` has the ids.
//! - `rows` reads the rows of the query.
//! - `spans` makes spans of rows, and `attributes` their attributes.

mod attributes;
mod context;
mod rows;
mod spans;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{bail, Result};
use futures::TryStreamExt;
use opentelemetry_proto::tonic::trace::v1::TracesData;
use prost::Message;

use crate::message::{say, HINT};
use crate::output::BytesFile;
use crate::session::QuerySession;
use rows::Rows;
use spans::Spans;

/// The spans of a piece.
const PIECE_SPANS: usize = 2048;

/// The rows: those of a thread in the order of their begins. Of one time, those that are deeper
/// follow. `START` and `END` are its times since 1970, and `LABELS` the columns of a store.
const QUERY: &str = "
    WITH listed AS (
        SELECT owner_id, array_agg(named_struct('key', key, 'type', type, 'int', int_value,
            'real', real_value, 'text', text) ORDER BY key) AS list
        FROM arguments WHERE owner IN ('span', 'operation') GROUP BY owner_id),
    timed AS (
        SELECT id, thread_id, parent_id, depth, start_ns, dur_ns, is_open, category, name, pid, tid, process,
            thread, NULL AS operation_id, {LABELS} FROM spans
        UNION ALL
        SELECT id, NULL, NULL, 0, start_ns, dur_ns, is_open, category, name, pid, tid, process,
            thread, operation_id, {LABELS} FROM operations)
    SELECT t.id, t.thread_id, t.parent_id, {START} AS begin_ns, {END} AS end_ns, t.is_open, t.category,
        t.name, t.pid, t.tid, t.process, t.thread, t.operation_id, t.service, t.host, t.version,
        v.list
    FROM timed t {JOIN} LEFT JOIN listed v ON v.owner_id = t.id
    ORDER BY t.thread_id, t.start_ns, t.depth, t.id";

/// Writes the spans and operations with a context to a file. Reports how many there are.
///
/// # Errors
///
/// No span has a context, the archive's clock has no relation to the time of day, or reading or
/// writing failed.
pub async fn export(session: &QuerySession, path: &Path) -> Result<()> {
    let mut spans = Spans::default();
    let mut file = BytesFile::create(path)?;
    for statement in session.statements(&query(session.is_of_store()))? {
        let mut batches = session.frame(statement).await?.execute_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            let rows = Rows::of(&batch)?;
            for row in 0..batch.num_rows() {
                spans.row(&rows, row)?;
                if spans.waiting() >= PIECE_SPANS {
                    file.write(&spans.take().encode_to_vec())?;
                }
            }
        }
    }
    let rest: TracesData = spans.take();
    file.write(&rest.encode_to_vec())?;
    if spans.exported() == 0 {
        bail!(
            "no span has a trace id\
             {HINT}a span has one with an argument `trace_id` of 32 hexadecimal digits, or \
             `traceparent`"
        );
    }
    file.finish()?;
    say(&format!("{} spans of {} requests exported", spans.exported(), spans.requests()));
    if spans.malformed() > 0 {
        say(&format!("arguments that are not ids as W3C has them: {}", spans.malformed()));
    }
    Ok(())
}

/// Returns the query of an archive or a store.
fn query(is_store: bool) -> String {
    let parts = match is_store {
        true => [
            ("{LABELS}", "service, host, version, archive"),
            ("{JOIN}", "JOIN archives a ON a.archive = t.archive"),
            ("{START}", "t.start_ns"),
            ("{END}", "COALESCE(t.start_ns + t.dur_ns, a.end_ns)"),
        ],
        false => [
            ("{LABELS}", "NULL AS service, NULL AS host, NULL AS version"),
            ("{JOIN}", ""),
            ("{START}", "to_realtime(t.start_ns)"),
            ("{END}", "to_realtime(COALESCE(t.start_ns + t.dur_ns, trace_end()))"),
        ],
    };
    parts.iter().fold(QUERY.to_owned(), |query, (place, text)| query.replace(place, text))
}
