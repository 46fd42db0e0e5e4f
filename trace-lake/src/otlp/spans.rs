//! Spans of rows.

use std::collections::{HashMap, HashSet};

use anyhow::{bail, Result};
use datafusion::arrow::array::Array;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};

use super::attributes::{attribute, number, of_argument, text};
use super::context::{Context, Ids, TraceId};
use super::rows::{self, Argument, Rows};
use crate::message::HINT;

/// The name of the instrumentation.
const SCOPE: &str = "trace";

/// Makes spans of rows, which are in the order of threads and times.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// The thread of the last row.
    thread: Option<i64>,
    /// The spans that may be around the next row, by their ids.
    open: HashMap<i64, OpenSpan>,
    /// How many there may be before those that have ended are removed.
    most_open: usize,
    waiting: Vec<ResourceSpans>,
    number: usize,
    exported: u64,
    requests: HashSet<TraceId>,
    malformed: u64,
}

/// The fewest spans among which those that have ended are looked for.
const MIN_OPEN: usize = 64;

/// A span that may be around later ones.
#[derive(Debug)]
struct OpenSpan {
    end_ns: i64,
    context: Option<Context>,
}

impl Spans {
    /// Reads a row, and keeps its span if it has a context.
    pub(super) fn row(&mut self, rows: &Rows, row: usize) -> Result<()> {
        let thread = rows.thread_id.is_valid(row).then(|| rows.thread_id.value(row));
        if thread.is_none() || thread != self.thread {
            self.open.clear();
            self.thread = thread;
        }
        let (id, start) = (rows.id.value(row), rows.start_ns.value(row));
        if self.open.len() >= self.most_open {
            // A begin and an end of one time can differ by a nanosecond: both are rounded.
            self.open.retain(|_, open| open.end_ns.saturating_add(1) >= start);
            self.most_open = (2 * self.open.len()).max(MIN_OPEN);
        }
        let arguments = rows.arguments(row);
        let arguments = || arguments.iter().flat_map(rows::Arguments::iter);
        let mut ids = Ids::default();
        let mut others = Vec::new();
        for argument in arguments() {
            if !ids.argument(argument.key, argument.text) {
                others.push(argument);
            }
        }
        self.malformed += ids.malformed;
        let parent = rows.parent_id.is_valid(row).then(|| rows.parent_id.value(row));
        let around = parent.and_then(|parent| self.open.get(&parent));
        let own = [id, start].map(i64::to_le_bytes).concat();
        let context = ids.context(around.and_then(|around| around.context), &own);
        self.open.insert(id, OpenSpan { end_ns: rows.end_ns.value(row), context });
        if let Some(context) = context {
            let span = span(rows, row, context, ids.state.unwrap_or_default(), &others)?;
            self.keep(resource(rows, row), span);
            self.requests.insert(context.trace_id);
        }
        Ok(())
    }

    fn keep(&mut self, resource: Resource, span: Span) {
        self.number += 1;
        self.exported += 1;
        if let Some(last) = self.waiting.last_mut() {
            if last.resource.as_ref() == Some(&resource) {
                if let Some(scope) = last.scope_spans.last_mut() {
                    scope.spans.push(span);
                    return;
                }
            }
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let scope = InstrumentationScope { name: SCOPE.to_owned(), version, ..Default::default() };
        let scope = ScopeSpans { scope: Some(scope), spans: vec![span], ..ScopeSpans::default() };
        let (resource, scope_spans) = (Some(resource), vec![scope]);
        self.waiting.push(ResourceSpans { resource, scope_spans, ..ResourceSpans::default() });
    }

    /// Returns the number of spans that [`take`](Self::take) would return.
    pub(super) fn waiting(&self) -> usize {
        self.number
    }

    /// Returns the spans since the last call.
    pub(super) fn take(&mut self) -> TracesData {
        self.number = 0;
        TracesData { resource_spans: std::mem::take(&mut self.waiting) }
    }

    pub(super) fn exported(&self) -> u64 {
        self.exported
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn malformed(&self) -> u64 {
        self.malformed
    }
}

fn span(
    rows: &Rows,
    row: usize,
    context: Context,
    trace_state: String,
    arguments: &[Argument<'_>],
) -> Result<Span> {
    if rows.start_ns.is_null(row) {
        bail!(
            "the archive does not have the time of day of its clock, which OTLP needs\
             {HINT}add it to a store with `trace lake add STORE ARCHIVE --time …`, and export that"
        );
    }
    let time = |nanos: i64| u64::try_from(nanos).unwrap_or_default();
    let start = time(rows.start_ns.value(row));
    let of = |key: &str| arguments.iter().find(|argument| argument.key == key);
    Ok(Span {
        trace_id: context.trace_id.to_vec(),
        span_id: context.span_id.to_vec(),
        parent_span_id: context.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
        trace_state,
        flags: u32::from(context.flags),
        name: rows.name.value(row).to_owned(),
        kind: of("span.kind").map_or(SpanKind::Internal, |kind| kind_of(kind.text)).into(),
        start_time_unix_nano: start,
        end_time_unix_nano: time(rows.end_ns.value(row)).max(start),
        attributes: attributes(rows, row, arguments),
        status: of("error").map(|error| failed(error.text)),
        ..Span::default()
    })
}

fn attributes(rows: &Rows, row: usize, arguments: &[Argument<'_>]) -> Vec<KeyValue> {
    let mut attributes = vec![text("category", rows.category.value(row))];
    if rows.operation_id.is_null(row) {
        attributes.push(number("thread.id", rows.tid.value(row)));
        let thread = rows::text(&rows.thread, row);
        attributes.extend(thread.map(|name| text("thread.name", name)));
    }
    if rows.is_open.value(row) {
        use opentelemetry_proto::tonic::common::v1::any_value::Value;
        attributes.push(attribute("is_open", Some(Value::BoolValue(true))));
    }
    let others = arguments.iter().filter(|argument| argument.key != "span.kind");
    attributes.extend(others.map(of_argument));
    attributes
}

/// Returns what a process has been recorded as.
fn resource(rows: &Rows, row: usize) -> Resource {
    let process = rows::text(&rows.process, row);
    let service = rows::text(&rows.service, row).or(process).unwrap_or("unknown_service");
    let labels = [("host.name", &rows.host), ("service.version", &rows.version)];
    let labels =
        labels.into_iter().filter_map(|(key, column)| Some((key, rows::text(column, row)?)));
    let mut attributes = vec![text("service.name", service)];
    attributes.extend(labels.map(|(key, value)| text(key, value)));
    attributes.push(number("process.pid", rows.pid.value(row)));
    attributes.extend(process.map(|name| text("process.executable.name", name)));
    Resource { attributes, ..Resource::default() }
}

fn kind_of(text: &str) -> SpanKind {
    match text {
        "server" => SpanKind::Server,
        "client" => SpanKind::Client,
        "producer" => SpanKind::Producer,
        "consumer" => SpanKind::Consumer,
        _ => SpanKind::Internal,
    }
}

fn failed(message: &str) -> Status {
    Status { message: message.to_owned(), code: StatusCode::Error.into() }
}
