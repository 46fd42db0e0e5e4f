//! Makes rows of records.

use std::cmp::Reverse;
use std::fmt::Write;
use std::io;

use serde_json::{Map, Value as Json};
use trace_analyze::carried::is_carried;
use trace_analyze::catalog::{Catalog, LabelId, ThreadId};
use trace_analyze::pairing::{Edge, Outcome, Pairing, Unpaired};
use trace_analyze::spans::{Oddities, Span, SpanValues, Spans};
use trace_analyze::{arguments, is_clock_anchor, Damage};
use trace_format::{Event, EventKind, Item, Log, Reader, Record, Value};

use super::cell;
use super::row::{Key, Kind, Row};
use super::sorted::Sorted;
use super::texts::{Place, Texts};
use crate::{visible_json, ConvertError};

/// The most durations whose arguments wait for their end.
const MAX_OPEN: usize = 1 << 20;

/// The most begins and ends of operations that wait for each other. Flows have the same limit.
const MAX_WAITING: usize = 1 << 20;

/// The thread and the arguments of a begin or an end.
type Kept = (ThreadId, Option<Place>);

/// The state of reading an archive.
pub(super) struct Collector {
    spans: Spans,
    arguments: SpanValues<Place>,
    operations: Pairing<Kept>,
    flows: Pairing<Kept>,
    table: Table,
    /// Complete durations, empty between records.
    done: Vec<Span>,
}

/// The rows so far.
#[derive(Debug, Default)]
struct Table {
    texts: Texts,
    sorted: Sorted,
    rows: u64,
    unpaired_operations: Unpaired,
    unpaired_flows: Unpaired,
    arguments_left_out: u64,
}

/// All rows of an archive.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) spans: Spans,
    pub(super) sorted: Sorted,
    pub(super) rows: u64,
    pub(super) oddities: Oddities,
    pub(super) unpaired_operations: Unpaired,
    pub(super) unpaired_flows: Unpaired,
    pub(super) arguments_left_out: u64,
    pub(super) damage: Damage,
}

/// A row without the cells of its thread.
struct Line<'a> {
    thread: ThreadId,
    /// `None` for log records.
    label: Option<LabelId>,
    kind: Kind,
    begin: u64,
    length: Option<u64>,
    /// The self time of durations.
    own: Option<u64>,
    id: Option<u64>,
    arguments: String,
    message: &'a str,
}

impl Collector {
    fn new() -> Self {
        Self {
            spans: Spans::default(),
            arguments: SpanValues::new(MAX_OPEN),
            operations: Pairing::new(MAX_WAITING),
            flows: Pairing::new(MAX_WAITING),
            table: Table::default(),
            done: Vec::new(),
        }
    }

    /// Reads an archive to its end.
    pub(super) fn read<R: io::Read>(reader: Reader<R>) -> Result<Collected, ConvertError> {
        let mut collector = Self::new();
        let damage =
            Damage::of_each(reader, |item| collector.record(item).map_err(ConvertError::Write))?;
        Ok(Collected { damage, ..collector.finish()? })
    }

    fn record(&mut self, item: &Item<'_>) -> io::Result<()> {
        match &item.record {
            Record::Event(event) => self.event(item, event)?,
            Record::Log(log) => self.log(item, log)?,
            _ => {}
        }
        self.done.extend(self.spans.record(item));
        self.add_done()
    }

    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) -> io::Result<()> {
        use EventKind::{AsyncBegin, AsyncEnd, FlowBegin, FlowEnd};
        let catalog = self.spans.catalog_mut();
        match event.kind {
            EventKind::DurationBegin
            | EventKind::DurationComplete { .. }
            | EventKind::DurationEnd => {
                let place = self.table.keep(item, event)?;
                let is_kept = self.arguments.add(catalog, item, event, place);
                self.table.arguments_left_out += u64::from(!is_kept && place.is_some());
                Ok(())
            }
            kind @ (AsyncBegin { .. } | AsyncEnd { .. } | FlowBegin { .. } | FlowEnd { .. }) => {
                let value = (catalog.thread(item, event.thread), self.table.keep(item, event)?);
                let Some(edge) = Edge::of(catalog, item, event, value) else { return Ok(()) };
                let is_flow = matches!(kind, FlowBegin { .. } | FlowEnd { .. });
                let pairing = if is_flow { &mut self.flows } else { &mut self.operations };
                let catalog = self.spans.catalog();
                let mut outcomes = pairing.push(catalog, edge);
                outcomes.try_for_each(|outcome| self.table.linked(catalog, &outcome, is_flow))
            }
            EventKind::Instant { .. } if is_clock_anchor(item, event) => Ok(()),
            kind => {
                let line = Line {
                    thread: catalog.thread(item, event.thread),
                    label: Some(catalog.label(item, event.category, event.name)),
                    kind: Kind::of(kind),
                    begin: item.nanos(event.ticks),
                    length: None,
                    own: None,
                    id: kind.id(),
                    arguments: arguments_of(item, event).unwrap_or_default(),
                    message: "",
                };
                self.table.add(self.spans.catalog(), line)
            }
        }
    }

    fn log(&mut self, item: &Item<'_>, log: &Log<'_>) -> io::Result<()> {
        let line = Line {
            thread: self.spans.catalog_mut().thread(item, log.thread),
            label: None,
            kind: Kind::Log,
            begin: item.nanos(log.ticks),
            length: None,
            own: None,
            id: None,
            arguments: String::new(),
            message: &String::from_utf8_lossy(log.message),
        };
        self.table.add(self.spans.catalog(), line)
    }

    /// Adds the durations that are complete.
    fn add_done(&mut self) -> io::Result<()> {
        let catalog = self.spans.catalog();
        for span in self.done.drain(..) {
            let (begin, end) = self.arguments.take(&span);
            let line = Line {
                thread: span.thread,
                label: Some(span.label),
                kind: span.role.into(),
                begin: span.rate.to_nanos(span.begin),
                length: Some(span.nanos()),
                own: Some(span.self_nanos()),
                id: None,
                arguments: self.table.joined(begin, end)?,
                message: "",
            };
            self.table.add(catalog, line)?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Collected> {
        self.done.extend(self.spans.finish());
        self.add_done()?;
        let Self { spans, mut table, operations, flows, .. } = self;
        for (pairing, is_flow) in [(operations, false), (flows, true)] {
            let mut outcomes = pairing.finish(spans.catalog());
            outcomes.try_for_each(|outcome| table.linked(spans.catalog(), &outcome, is_flow))?;
        }
        table.sorted.finish()?;
        Ok(Collected {
            sorted: table.sorted,
            rows: table.rows,
            oddities: spans.oddities(),
            unpaired_operations: table.unpaired_operations,
            unpaired_flows: table.unpaired_flows,
            arguments_left_out: table.arguments_left_out,
            damage: Damage::default(),
            spans,
        })
    }
}

impl Table {
    /// Keeps the arguments of a begin or an end.
    fn keep(&mut self, item: &Item<'_>, event: &Event<'_>) -> io::Result<Option<Place>> {
        arguments_of(item, event).map(|text| self.texts.push(&text)).transpose()
    }

    /// Returns the arguments of a begin and its end.
    fn joined(&self, begin: Option<Place>, end: Option<Place>) -> io::Result<String> {
        let text = |place: Place| self.texts.get(place);
        match (begin, end) {
            (Some(begin), Some(end)) => Ok(joined(&text(begin)?, &text(end)?)),
            (Some(place), None) | (None, Some(place)) => text(place),
            (None, None) => Ok(String::new()),
        }
    }

    /// Adds an operation or a flow.
    fn linked(
        &mut self,
        catalog: &Catalog,
        outcome: &Outcome<Kept>,
        is_flow: bool,
    ) -> io::Result<()> {
        let unpaired = match is_flow {
            true => &mut self.unpaired_flows,
            false => &mut self.unpaired_operations,
        };
        let (begin, end) = match outcome {
            Outcome::Pair { begin, end } => (begin, end),
            Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => {
                unpaired.count(edge);
                return Ok(());
            }
        };
        let line = Line {
            thread: begin.value.0,
            label: Some(begin.label),
            kind: if is_flow { Kind::Flow } else { Kind::Async },
            begin: begin.nanos,
            length: Some(end.nanos - begin.nanos),
            own: None,
            id: begin.track.id(),
            arguments: self.joined(begin.value.1, end.value.1)?,
            message: "",
        };
        self.add(catalog, line)
    }

    fn add(&mut self, catalog: &Catalog, line: Line<'_>) -> io::Result<()> {
        let Line { thread, label, kind, begin, length, own, id, .. } = line;
        self.rows += 1;
        // Of equal durations, the inner one ends first.
        let number = if own.is_some() { u64::MAX - self.rows } else { self.rows };
        let end = begin.saturating_add(own.and(length).unwrap_or(0));
        let key = Key { koids: catalog.koids(thread), thread, begin, end: Reverse(end), number };
        let text = match line.arguments.is_empty() && line.message.is_empty() {
            true => String::new(),
            false => format!("{},{}", cell(&visible_json(&line.arguments)), cell(line.message)),
        };
        self.sorted.push(&Row { key, label, kind, length, own, id, text: &text })
    }
}

/// Returns the arguments of an event as a JSON object, or `None` if it has none.
fn arguments_of(item: &Item<'_>, event: &Event<'_>) -> Option<String> {
    let names = event.arguments.iter().map(|argument| item.text(argument.name));
    let named = names.zip(&event.arguments).filter(|(name, _)| !is_carried(name));
    let named: Vec<_> = named.map(|(name, argument)| (name, argument.value)).collect();
    if named.is_empty() {
        return None;
    }
    let is_repeated = |place: usize| {
        let name = named.get(place).map(|(name, _)| name);
        named.iter().skip(place + 1).any(|(other, _)| Some(other) == name)
    };
    let values = named.iter().map(|(name, value)| (name, value_of(item, name, *value)));
    if (0..named.len()).any(is_repeated) {
        let values: Vec<_> =
            values.map(|(name, value)| (name.clone().into_owned(), value)).collect();
        return Some(Json::from(arguments::to_object(&values)).to_string());
    }
    let mut text = String::new();
    for (name, value) in values {
        let separator = if text.is_empty() { '{' } else { ',' };
        write!(text, "{separator}{}:{value}", Json::from(&**name))
            .expect("a string takes any text");
    }
    Some(text + "}")
}

/// Returns the value of an argument. Ids of operations are as in the column `id`: spreadsheets
/// round large numbers.
fn value_of(item: &Item<'_>, name: &str, value: Value<'_>) -> Json {
    match value.unsigned().filter(|_| arguments::is_operation_id(name)) {
        Some(id) => format!("{id:#x}").into(),
        None => arguments::to_json(item, value),
    }
}

/// Joins two JSON objects. Values of one name are an array.
fn joined(begin: &str, end: &str) -> String {
    let values = |text: &str| {
        let object: Map<String, Json> = serde_json::from_str(text).unwrap_or_default();
        object.into_iter().flat_map(|(name, value)| match value {
            Json::Array(values) => values.into_iter().map(|it| (name.clone(), it)).collect(),
            value => vec![(name, value)],
        })
    };
    let both: Vec<(String, Json)> = values(begin).chain(values(end)).collect();
    Json::from(arguments::to_object(&both)).to_string()
}
