//! Spans, instants, flows and async operations as rows of one wide table, from which the tables of
//! each are made.

mod chosen;
mod pending;
mod wide;

use datafusion::error::Result;
use trace_analyze::catalog::{Catalog, LabelId};
use trace_analyze::pairing::{Edge, Outcome, Pairing};
use trace_analyze::spans::{Span, Spans};
use trace_format::layout::InstantScope;
use trace_format::{Event, EventKind, Item, Record, ThreadKoids, TickRate};

use crate::arguments::{self, Argument};
use crate::columns::{column, Column, Kind};
use crate::source::Events;
use crate::times::{nanos, signed};
use chosen::{Choice, Chosen};
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
    column("parent_id", Kind::Int, "the span around a span of an ordered thread"),
    column("depth", Kind::Int, "the number of spans around it"),
    column("args", Kind::Args, "the arguments"),
];

/// The columns of the parent and the depth of spans of ordered threads.
pub(crate) const PARENT_COLUMN: usize = WIDE.len() - 3;
pub(crate) const DEPTH_COLUMN: usize = WIDE.len() - 2;

/// The type of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emit {
    Span,
    Instant,
    Flow,
    Operation,
}

/// The spans that a reader makes rows of, by their thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    All,
    /// Those whose spans are nested in the order of their records, with their parents and depths.
    Ordered,
    /// The others.
    Unordered,
}

/// The first record of a span, and its place among those of an ordered thread.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    id: i64,
    /// The id of the span around it, or 0.
    parent: i64,
    depth: i64,
}

/// A row of [`WIDE`].
#[derive(Debug)]
pub(crate) struct EventRow<'a> {
    pub(crate) kind: Emit,
    pub(crate) id: i64,
    last_id: i64,
    koids: ThreadKoids,
    names: Names<'a>,
    start: i64,
    length: Length,
    role: Option<&'static str>,
    scope: Option<&'static str>,
    correlation: Option<u64>,
    phase: Option<&'static str>,
    parent: Option<i64>,
    depth: i64,
    pub(crate) args: &'a [Argument],
}

/// The category and the name of a row.
#[derive(Debug)]
enum Names<'a> {
    Label(&'a Catalog, LabelId),
    Texts(&'a str, &'a str),
}

impl Names<'_> {
    fn category(&self) -> &str {
        match self {
            Self::Label(catalog, label) => catalog.category(*label),
            Self::Texts(category, _) => category,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Label(catalog, label) => catalog.name(*label),
            Self::Texts(_, name) => name,
        }
    }
}

/// The end of a row, which takes divisions to compute.
#[derive(Debug, Clone, Copy)]
enum Length {
    Span {
        rate: TickRate,
        begin: u64,
        end: u64,
        self_ticks: u64,
    },
    Operation {
        end: u64,
        nanos: u64,
    },
    /// It has no end yet.
    Open,
    /// It takes no time.
    Point,
}

impl EventRow<'_> {
    /// Returns the end, or `None` if it is open.
    fn end(&self) -> Option<i64> {
        match self.length {
            Length::Span { rate, end, .. } => Some(signed(rate.to_nanos(end))),
            Length::Operation { end, .. } => Some(signed(end)),
            Length::Open => None,
            Length::Point => Some(self.start),
        }
    }

    /// Returns the duration of a span or an operation.
    fn dur(&self) -> Option<i64> {
        match self.length {
            Length::Span { rate, begin, end, .. } => {
                Some(signed(rate.length_to_nanos(end - begin)))
            }
            Length::Operation { nanos, .. } => Some(signed(nanos)),
            Length::Open | Length::Point => None,
        }
    }

    fn self_nanos(&self) -> Option<i64> {
        match self.length {
            Length::Span { rate, self_ticks, .. } => Some(signed(rate.length_to_nanos(self_ticks))),
            _ => None,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.length, Length::Open)
    }
}

/// What becomes of rows.
pub(crate) trait EventSink {
    fn row(&mut self, row: &EventRow<'_>) -> Result<()>;
}

/// Makes rows of events.
pub(crate) struct EventReader<'a> {
    events: Events,
    chosen: Option<Chosen<'a>>,
    spans: Spans<Place>,
    operations: Pairing<(i64, ThreadKoids)>,
    args: Option<Pending>,
    /// Spans that are complete now.
    ready: Vec<Span<Place>>,
}

impl<'a> EventReader<'a> {
    /// Starts a reader of rows with their arguments.
    pub(crate) fn with_args(events: Events) -> Self {
        Self::new(events, None, true)
    }

    fn new(events: Events, chosen: Option<Chosen<'a>>, has_args: bool) -> Self {
        let spans = Spans::with_values_and_unended();
        let operations = Pairing::new(MAX_WAITING);
        let args = has_args.then(Pending::default);
        Self { events, chosen, spans, operations, args, ready: Vec::new() }
    }

    fn span(&mut self, span: &Span<Place>, is_open: bool, sink: &mut dyn EventSink) -> Result<()> {
        let Place { id, parent, depth } = span.begin_value;
        let args = self.take_args([id, span.end_value.id]);
        let Span { rate, begin, end, self_ticks, .. } = *span;
        let row = EventRow {
            kind: Emit::Span,
            id,
            last_id: if is_open { i64::MAX } else { id.max(span.end_value.id) },
            koids: span.koids,
            names: Names::Label(self.spans.catalog(), span.label),
            start: signed(rate.to_nanos(begin)),
            length: match is_open {
                true => Length::Open,
                false => Length::Span { rate, begin, end, self_ticks },
            },
            role: Some(span.role.as_str()),
            scope: None,
            correlation: None,
            phase: None,
            parent: (parent != 0).then_some(parent),
            depth,
            args: &args,
        };
        sink.row(&row)
    }

    /// Adds the row of a complete event, of which nothing is needed that depends on others.
    fn complete(
        &self,
        item: &Item<'_>,
        event: &Event<'_>,
        place: Place,
        sink: &mut dyn EventSink,
    ) -> Result<()> {
        let EventKind::DurationComplete { end } = event.kind else { return Ok(()) };
        let (rate, begin, end) = (item.provider.tick_rate(), event.ticks, end.max(event.ticks));
        let args = self.args_of(item, event);
        let row = EventRow {
            kind: Emit::Span,
            id: place.id,
            last_id: place.id,
            koids: item.thread(event.thread),
            names: Names::Texts(&item.text(event.category), &item.text(event.name)),
            start: signed(rate.to_nanos(begin)),
            length: Length::Span { rate, begin, end, self_ticks: 0 },
            role: None,
            scope: None,
            correlation: None,
            phase: None,
            parent: (place.parent != 0).then_some(place.parent),
            depth: place.depth,
            args: &args,
        };
        sink.row(&row)
    }

    /// Adds the rows of spans that are complete now.
    fn ready(&mut self, sink: &mut dyn EventSink) -> Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        let written = ready.iter().try_for_each(|span| self.span(span, false, sink));
        ready.clear();
        self.ready = ready;
        written?;
        if self.spans.has_unpaired() {
            self.unpaired(sink)?;
        }
        Ok(())
    }

    #[cold]
    fn unpaired(&mut self, sink: &mut dyn EventSink) -> Result<()> {
        self.spans.take_unended().iter().try_for_each(|span| self.span(span, true, sink))?;
        for end in self.spans.take_lone_ends() {
            self.take_args([end.id, 0]);
        }
        Ok(())
    }

    /// Adds an event to the spans, and the rows of those that are complete now.
    fn duration(
        &mut self,
        item: &Item<'_>,
        event: &Event<'_>,
        number: i64,
        sink: &mut dyn EventSink,
    ) -> Result<()> {
        let mut place = Place { id: number, ..Place::default() };
        if let Some(chosen) = &mut self.chosen {
            match chosen.of(self.spans.catalog_mut(), item, event, number) {
                Choice::None => return Ok(()),
                Choice::Row(place) => return self.complete(item, event, place, sink),
                Choice::Span(nested) => place = nested,
            }
        }
        if !matches!(event.kind, EventKind::AsyncInstant { .. }) {
            self.note_args(item, event, number);
        }
        self.ready.extend(self.spans.record_with(item, place));
        self.ready(sink)
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
        let row = EventRow {
            kind: Emit::Operation,
            id,
            last_id: end.map_or(i64::MAX, |end| end.value.0),
            koids,
            names: Names::Label(self.spans.catalog(), begin.label),
            start: signed(begin.nanos),
            length: end.map_or(Length::Open, |end| Length::Operation {
                end: end.nanos,
                nanos: end.nanos - begin.nanos,
            }),
            role: None,
            scope: None,
            correlation: begin.track.id(),
            phase: None,
            parent: None,
            depth: 0,
            args: &args,
        };
        sink.row(&row)
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
        let args = self.args_of(item, event);
        let row = EventRow {
            kind,
            id,
            last_id: id,
            koids: item.thread(event.thread),
            names: Names::Texts(&item.text(event.category), &item.text(event.name)),
            start: nanos(item, event.ticks),
            length: Length::Point,
            role: None,
            scope,
            correlation: event.kind.id(),
            phase,
            parent: None,
            depth: 0,
            args: &args,
        };
        sink.row(&row)
    }

    /// Returns the arguments of a row with one record.
    fn args_of(&self, item: &Item<'_>, event: &Event<'_>) -> Vec<Argument> {
        match self.args {
            Some(_) => arguments::of(item, &event.arguments),
            None => Vec::new(),
        }
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
                self.duration(item, event, number, sink)
            }
            // It can be the mark of a span.
            EventKind::AsyncInstant { .. } if self.events.spans => {
                self.duration(item, event, number, sink)
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
        self.ready.extend(self.spans.finish());
        self.ready(sink)?;
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
