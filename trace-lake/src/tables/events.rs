//! Spans, instants, flows and async operations as rows of one wide table, from which the tables of
//! each are made.

mod pending;
mod wide;

use datafusion::error::Result;
use trace_analyze::pairing::{Edge, Outcome, Pairing};
use trace_analyze::schedule::Schedule;
use trace_analyze::spans::{Span, Spans};
use trace_format::layout::InstantScope;
use trace_format::{Event, EventKind, Item, Record, ThreadKoids};

use crate::archive::Archive;
use crate::arguments::{self, Argument};
use crate::columns::{column, Column, Kind};
use crate::directory::Directory;
use crate::source::Events;
use crate::times::{nanos, signed};
use pending::Pending;
pub(crate) use wide::{hashed, thread_track, WideReader};

/// The most begins and ends of async operations that wait for each other.
const MAX_WAITING: usize = 1 << 20;

/// The number of columns at the start of [`WIDE`] by which events are nested.
pub(crate) const KEY_COLUMNS: usize = 6;

/// The columns of all tables of events. The first ones are what [`nesting`](crate::nesting) needs.
pub(crate) const WIDE: &[Column] = &[
    column("kind", Kind::Int, "the type, see `Emit`"),
    column("track_id", Kind::Int, "the thread or the async operations that events are nested in"),
    column("start_ns", Kind::Int, "the begin"),
    column("end_ns", Kind::Int, "the end; the last time if it is open"),
    column("id", Kind::Int, "the number of its first record"),
    column("last_id", Kind::Int, "the number of its last record"),
    column("category", Kind::Text, "the category"),
    column("name", Kind::Text, "the name"),
    column("pid", Kind::Unsigned, "the process"),
    column("tid", Kind::Unsigned, "the thread"),
    column("process", Kind::Text, "the name of the process"),
    column("thread", Kind::Text, "the name of the thread"),
    column("process_id", Kind::Int, "the process in the table processes"),
    column("thread_id", Kind::Int, "the thread in the table threads"),
    column("dur_ns", Kind::Int, "the duration"),
    column("self_ns", Kind::Int, "the duration without inner spans"),
    column("cpu_ns", Kind::Int, "the time on a processor"),
    column("is_open", Kind::Bool, "whether the end is missing"),
    column("role", Kind::Text, "the part in an operation"),
    column("scope", Kind::Text, "the scope of an instant"),
    column("correlation", Kind::Unsigned, "the id of an operation or flow"),
    column("phase", Kind::Text, "the type of a flow event"),
    column("args", Kind::Args, "the arguments"),
];

/// The type of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emit {
    Span,
    Instant,
    Flow,
    Operation,
}

/// A row of [`WIDE`].
#[derive(Debug)]
pub(crate) struct EventRow<'a> {
    pub(crate) kind: Emit,
    pub(crate) id: i64,
    last_id: i64,
    koids: ThreadKoids,
    category: &'a str,
    name: &'a str,
    start: i64,
    /// `None` if it is open.
    end: Option<i64>,
    /// The duration of a span or an operation.
    dur: Option<i64>,
    self_nanos: Option<i64>,
    role: Option<&'static str>,
    scope: Option<&'static str>,
    correlation: Option<u64>,
    phase: Option<&'static str>,
    pub(crate) args: &'a [Argument],
}

/// What becomes of rows.
pub(crate) trait EventSink {
    fn row(&mut self, context: &Context<'_>, row: &EventRow<'_>) -> Result<()>;
}

/// What rows need to know of the archive.
pub(crate) struct Context<'a> {
    directory: &'a Directory,
    schedule: Option<&'a Schedule>,
}

/// Makes rows of events.
pub(crate) struct EventReader<'a> {
    context: Context<'a>,
    events: Events,
    spans: Spans<i64>,
    operations: Pairing<(i64, ThreadKoids)>,
    args: Option<Pending>,
}

impl<'a> EventReader<'a> {
    /// Starts a reader of rows with their arguments.
    pub(crate) fn with_args(archive: &'a Archive, events: Events) -> Result<Self> {
        Self::new(archive, events, None, true)
    }

    fn new(
        archive: &'a Archive,
        events: Events,
        schedule: Option<&'a Schedule>,
        has_args: bool,
    ) -> Result<Self> {
        let context = Context { directory: archive.directory()?, schedule };
        let spans = Spans::with_values_and_unended();
        let operations = Pairing::new(MAX_WAITING);
        let args = has_args.then(Pending::default);
        Ok(Self { context, events, spans, operations, args })
    }

    fn span(&mut self, span: &Span<i64>, is_open: bool, sink: &mut dyn EventSink) -> Result<()> {
        let last_id = span.begin_value.max(span.end_value);
        let args = self.take_args([span.begin_value, span.end_value]);
        let catalog = self.spans.catalog();
        let start = signed(span.rate.to_nanos(span.begin));
        let row = EventRow {
            kind: Emit::Span,
            id: span.begin_value,
            last_id: if is_open { i64::MAX } else { last_id },
            koids: span.koids,
            category: catalog.category(span.label),
            name: catalog.name(span.label),
            start,
            end: (!is_open).then(|| signed(span.rate.to_nanos(span.end))),
            dur: (!is_open).then(|| signed(span.nanos())),
            self_nanos: (!is_open).then(|| signed(span.self_nanos())),
            role: Some(span.role.as_str()),
            scope: None,
            correlation: None,
            phase: None,
            args: &args,
        };
        sink.row(&self.context, &row)
    }

    fn spans(&mut self, spans: Vec<Span<i64>>, sink: &mut dyn EventSink) -> Result<()> {
        spans.iter().try_for_each(|span| self.span(span, false, sink))?;
        let mut open = self.spans.take_unended();
        open.append(&mut self.spans.take_too_deep());
        open.iter().try_for_each(|span| self.span(span, true, sink))?;
        for id in self.spans.take_lone_ends() {
            self.take_args([id, 0]);
        }
        Ok(())
    }

    fn operations(
        &mut self,
        outcomes: Vec<Outcome<(i64, ThreadKoids)>>,
        sink: &mut dyn EventSink,
    ) -> Result<()> {
        for outcome in outcomes {
            match outcome {
                Outcome::Pair { begin, end } => self.operation(&begin, Some(&end), sink)?,
                Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) if !edge.is_end => {
                    self.operation(&edge, None, sink)?;
                }
                // An end has no row.
                Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => {
                    self.take_args([edge.value.0, 0]);
                }
            }
        }
        Ok(())
    }

    fn operation(
        &mut self,
        begin: &Edge<(i64, ThreadKoids)>,
        end: Option<&Edge<(i64, ThreadKoids)>>,
        sink: &mut dyn EventSink,
    ) -> Result<()> {
        let (id, koids) = begin.value;
        let end_id = end.map_or(0, |end| end.value.0);
        let args = self.take_args([id, end_id]);
        let catalog = self.spans.catalog();
        let row = EventRow {
            kind: Emit::Operation,
            id,
            last_id: end.map_or(i64::MAX, |end| end.value.0),
            koids,
            category: catalog.category(begin.label),
            name: catalog.name(begin.label),
            start: signed(begin.nanos),
            end: end.map(|end| signed(end.nanos)),
            dur: end.map(|end| signed(end.nanos - begin.nanos)),
            self_nanos: None,
            role: None,
            scope: None,
            correlation: begin.track.id(),
            phase: None,
            args: &args,
        };
        sink.row(&self.context, &row)
    }

    /// Adds the row of an instant or a flow event.
    fn point(
        &self,
        (item, event): (&Item<'_>, &Event<'_>),
        id: i64,
        sink: &mut dyn EventSink,
    ) -> Result<()> {
        let (kind, scope, phase) = match event.kind {
            EventKind::Instant { scope } => (Emit::Instant, Some(scope_name(scope)), None),
            EventKind::AsyncInstant { .. } => (Emit::Instant, Some("operation"), None),
            EventKind::FlowBegin { .. } => (Emit::Flow, None, Some("begin")),
            EventKind::FlowStep { .. } => (Emit::Flow, None, Some("step")),
            EventKind::FlowEnd { .. } => (Emit::Flow, None, Some("end")),
            _ => return Ok(()),
        };
        let args = match self.args {
            Some(_) => arguments::of(item, &event.arguments),
            None => Vec::new(),
        };
        let start = nanos(item, event.ticks);
        let row = EventRow {
            kind,
            id,
            last_id: id,
            koids: item.thread(event.thread),
            category: &item.text(event.category),
            name: &item.text(event.name),
            start,
            end: Some(start),
            dur: None,
            self_nanos: None,
            role: None,
            scope,
            correlation: event.kind.id(),
            phase,
            args: &args,
        };
        sink.row(&self.context, &row)
    }

    fn take_args(&mut self, ids: [i64; 2]) -> Vec<Argument> {
        self.args.as_mut().map(|args| args.take(ids)).unwrap_or_default()
    }

    fn is_point(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::Instant { .. } | EventKind::AsyncInstant { .. } => self.events.instants,
            EventKind::FlowBegin { .. }
            | EventKind::FlowStep { .. }
            | EventKind::FlowEnd { .. } => self.events.flows,
            _ => false,
        }
    }
}

impl EventReader<'_> {
    /// Adds the rows of a record. `number` is the number of the record in the archive.
    pub(crate) fn record(
        &mut self,
        item: &Item<'_>,
        number: i64,
        sink: &mut dyn EventSink,
    ) -> Result<()> {
        let Record::Event(event) = &item.record else {
            self.spans.catalog_mut().note(item);
            return Ok(());
        };
        if self.is_point(event.kind) {
            self.point((item, event), number, sink)?;
        }
        match event.kind {
            EventKind::DurationBegin
            | EventKind::DurationEnd
            | EventKind::DurationComplete { .. }
                if self.events.spans =>
            {
                self.note_args(item, event, number);
                let spans: Vec<_> = self.spans.record_with(item, number).collect();
                self.spans(spans, sink)
            }
            // It can be the mark of a span.
            EventKind::AsyncInstant { .. } if self.events.spans => {
                let spans: Vec<_> = self.spans.record_with(item, number).collect();
                self.spans(spans, sink)
            }
            EventKind::AsyncBegin { .. } | EventKind::AsyncEnd { .. } if self.events.operations => {
                self.note_args(item, event, number);
                let value = (number, item.thread(event.thread));
                let catalog = self.spans.catalog_mut();
                let Some(edge) = Edge::of(catalog, item, event, value) else { return Ok(()) };
                let outcomes: Vec<_> = self.operations.push(self.spans.catalog(), edge).collect();
                self.operations(outcomes, sink)
            }
            _ => Ok(()),
        }
    }

    /// Adds the last rows.
    pub(crate) fn finish(&mut self, sink: &mut dyn EventSink) -> Result<()> {
        let spans: Vec<_> = self.spans.finish().collect();
        self.spans(spans, sink)?;
        let operations = std::mem::replace(&mut self.operations, Pairing::new(1));
        let outcomes: Vec<_> = operations.finish(self.spans.catalog()).collect();
        self.operations(outcomes, sink)
    }

    fn note_args(&mut self, item: &Item<'_>, event: &Event<'_>, number: i64) {
        if let Some(args) = &mut self.args {
            args.note(item, event, number);
        }
    }
}

fn scope_name(scope: Option<InstantScope>) -> &'static str {
    match scope {
        Some(InstantScope::Process) => "process",
        Some(InstantScope::Global) => "global",
        _ => "thread",
    }
}

#[cfg(test)]
mod tests;
