//! Makes rows of records.

use std::io;

use trace_analyze::catalog::{Catalog, LabelId, ThreadId};
use trace_analyze::pairing::{Edge, Outcome, Pairing, Unpaired};
use trace_analyze::spans::{Oddities, Spans};
use trace_analyze::{is_added, Damage};
use trace_format::{Event, EventKind, Item, Log, Reader, Record};

use super::arguments;
use super::kind::Kind;
use super::row::Row;
use super::table::Table;
use super::texts::Place;
use crate::sorted::Sorted;
use crate::ConvertError;

/// The most begins and ends of operations that wait for each other. Flows have the same limit. It
/// is half of that of other commands, because each has a thread and arguments.
const MAX_WAITING: usize = 1 << 19;

/// The thread and the arguments of a begin or an end.
type Kept = (ThreadId, Option<Place>);

/// The state of reading an archive.
pub(super) struct Collector {
    /// The value of an event is the place of its arguments.
    spans: Spans<Option<Place>>,
    operations: Linked,
    flows: Linked,
    table: Table,
    /// The arguments of an event.
    lines: Vec<u8>,
}

/// Operations or flows.
struct Linked {
    kind: Kind,
    pairing: Pairing<Kept>,
    unpaired: Unpaired,
}

/// All rows of an archive.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) catalog: Catalog,
    pub(super) sorted: Sorted<Row>,
    pub(super) rows: u64,
    pub(super) oddities: Oddities,
    pub(super) unpaired_operations: Unpaired,
    pub(super) unpaired_flows: Unpaired,
    pub(super) damage: Damage,
}

impl Collector {
    fn new() -> Self {
        Self {
            spans: Spans::with_values(),
            operations: Linked::new(Kind::Async),
            flows: Linked::new(Kind::Flow),
            table: Table::default(),
            lines: Vec::new(),
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
        use EventKind::{DurationBegin, DurationComplete, DurationEnd};
        let mut value = None;
        match &item.record {
            Record::Event(event) => {
                self.lines.clear();
                arguments::add_lines(&mut self.lines, item, event)?;
                match event.kind {
                    DurationBegin | DurationComplete { .. } | DurationEnd => {
                        value = self.table.texts.push(&self.lines)?;
                    }
                    _ => self.event(item, event)?,
                }
            }
            Record::Log(log) => self.log(item, log)?,
            _ => {}
        }
        let table = &mut self.table;
        self.spans.record_with(item, value).try_for_each(|span| table.duration(&span))
    }

    /// Adds an event that is not about a duration.
    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) -> io::Result<()> {
        use EventKind::{AsyncBegin, AsyncEnd, FlowBegin, FlowEnd};
        let catalog = self.spans.catalog_mut();
        let linked = match event.kind {
            AsyncBegin { .. } | AsyncEnd { .. } => &mut self.operations,
            FlowBegin { .. } | FlowEnd { .. } => &mut self.flows,
            _ if is_added(item, event) => return Ok(()),
            kind => {
                let thread = catalog.thread(item, event.thread);
                let label = catalog.label(item, event.category, event.name);
                let (kind, id) = (Kind::of(kind), kind.id().unwrap_or(0));
                let row = Row { id, ..Row::new(thread, kind, label, item.nanos(event.ticks)) };
                let lines = std::str::from_utf8(&self.lines).unwrap_or_default();
                return self.table.add(row, (lines, ""), "");
            }
        };
        let thread = catalog.thread(item, event.thread);
        let value = (thread, self.table.texts.push(&self.lines)?);
        let Some(edge) = Edge::of(catalog, item, event, value) else { return Ok(()) };
        linked.add(catalog, edge, &mut self.table)
    }

    fn log(&mut self, item: &Item<'_>, log: &Log<'_>) -> io::Result<()> {
        let thread = self.spans.catalog_mut().thread(item, log.thread);
        let row = Row::new(thread, Kind::Log, LabelId(0), item.nanos(log.ticks));
        self.table.add(row, ("", ""), &String::from_utf8_lossy(log.message))
    }

    fn finish(mut self) -> io::Result<Collected> {
        let table = &mut self.table;
        self.spans.finish().try_for_each(|span| table.duration(&span))?;
        let oddities = self.spans.oddities();
        let catalog = self.spans.into_catalog();
        let unpaired_operations = self.operations.finish(&catalog, table)?;
        let unpaired_flows = self.flows.finish(&catalog, table)?;
        let (sorted, rows) = self.table.finish();
        Ok(Collected {
            catalog,
            sorted,
            rows,
            oddities,
            unpaired_operations,
            unpaired_flows,
            damage: Damage::default(),
        })
    }
}

impl Linked {
    fn new(kind: Kind) -> Self {
        Self { kind, pairing: Pairing::new(MAX_WAITING), unpaired: Unpaired::default() }
    }

    fn add(&mut self, catalog: &Catalog, edge: Edge<Kept>, table: &mut Table) -> io::Result<()> {
        let Self { kind, pairing, unpaired } = self;
        let mut outcomes = pairing.push(catalog, edge);
        outcomes.try_for_each(|outcome| add(*kind, &outcome, table, unpaired))
    }

    fn finish(self, catalog: &Catalog, table: &mut Table) -> io::Result<Unpaired> {
        let Self { kind, pairing, mut unpaired } = self;
        let mut outcomes = pairing.finish(catalog);
        outcomes.try_for_each(|outcome| add(kind, &outcome, table, &mut unpaired))?;
        Ok(unpaired)
    }
}

/// Adds a pair.
fn add(
    kind: Kind,
    outcome: &Outcome<Kept>,
    table: &mut Table,
    unpaired: &mut Unpaired,
) -> io::Result<()> {
    match outcome {
        Outcome::Pair { begin, end } => {
            let (id, length) = (begin.track.id().unwrap_or(0), end.nanos - begin.nanos);
            let row = Row::new(begin.value.0, kind, begin.label, begin.nanos);
            table.add_pair(Row { id, length, ..row }, begin.value.1, end.value.1)
        }
        Outcome::Cut { begin: edge, .. } | Outcome::Unpaired(edge) => {
            unpaired.count(edge);
            Ok(())
        }
    }
}
