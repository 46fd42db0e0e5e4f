//! The spans around events: parents and depths.
//!
//! Events are sorted by track and begin, with DataFusion's sort, which uses temporary files if
//! memory is short. A [`stack`](crate::stack) then has the spans that are open at each event. It is
//! exact for any order of records. Events of one track and time are in memory at once.
//!
//! Most threads need no sort for their spans, because each has one record, in the order of begins,
//! as our own programs write them. The first pass over the archive finds them. Their stacks are
//! those of the [scan](crate::scan) itself.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use datafusion::arrow::compute::{concat_batches, filter, SortOptions};
use datafusion::arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column as ColumnExpr;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};

use crate::archive::Archive;
use crate::columns::projected;
use crate::scan::EventScan;
use crate::source::Events;
use crate::stack::{order, Event, Stack};
use crate::tables::{Emit, Table, Threads, DEPTH_COLUMN, KEY_COLUMNS, PARENT_COLUMN, WIDE};
use crate::time_range::TimeRange;

/// The columns of tables of events that have another name in [`WIDE`].
const RENAMED: [(&str, &str); 3] =
    [("time_ns", "start_ns"), ("operation_id", "correlation"), ("flow_id", "correlation")];

/// The key columns, by place.
const KIND: usize = 0;
const TRACK: usize = 1;
const START: usize = 2;
const END: usize = 3;
const ID: usize = 4;
const LAST_ID: usize = 5;

/// Where a column of a table comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A column of [`WIDE`].
    Wide(usize),
    Parent,
    Depth,
}

impl Origin {
    /// Returns the column of [`WIDE`] that has it for spans of ordered threads.
    fn wide(self) -> usize {
        match self {
            Self::Wide(column) => column,
            Self::Parent => PARENT_COLUMN,
            Self::Depth => DEPTH_COLUMN,
        }
    }

    fn of(name: &str) -> Result<Self> {
        let renamed = RENAMED.iter().find(|(own, _)| *own == name);
        let wide = renamed.map_or(name, |(_, wide)| wide);
        match name {
            "parent_id" | "span_id" => Ok(Self::Parent),
            "depth" => Ok(Self::Depth),
            _ => WIDE.iter().position(|column| column.name == wide).map(Self::Wide).ok_or_else(
                || DataFusionError::Internal(format!("no column of events is named {name}")),
            ),
        }
    }
}

/// Returns the rows of a table of events.
pub(crate) fn partition(
    archive: Arc<Archive>,
    table: &'static Table,
    events: Events,
    projection: &[usize],
    range: TimeRange,
) -> Result<Arc<dyn PartitionStream>> {
    let schema = projected(table.columns, projection);
    let names = projection.iter().map(|column| table.columns[*column].name);
    let origins = names.map(Origin::of).collect::<Result<Vec<_>>>()?;
    let wide = |origin: &Origin| match origin {
        Origin::Wide(column) => Some(*column),
        Origin::Parent | Origin::Depth => None,
    };
    let direct: Option<Vec<usize>> = origins.iter().map(wide).collect();
    let threads = Threads::All;
    if let Some(projection) = direct {
        return Ok(Arc::new(EventScan { archive, events, threads, projection, schema, range }));
    }
    let keys = 0..KEY_COLUMNS;
    let others = origins.iter().filter_map(wide).filter(|column| *column >= KEY_COLUMNS);
    let raw_projection: Vec<usize> = keys.chain(others).collect();
    let has_only_spans = events.has_only_spans();
    let ordered = has_only_spans.then(|| EventScan {
        archive: archive.clone(),
        events,
        threads: Threads::Ordered,
        projection: origins.iter().map(|origin| origin.wide()).collect(),
        schema: schema.clone(),
        range,
    });
    let scan = EventScan {
        archive,
        events: around(events),
        threads: if has_only_spans { Threads::Unordered } else { Threads::All },
        schema: projected(WIDE, &raw_projection),
        projection: raw_projection,
        // Spans before the range can be around events in it, and none after it can.
        range: TimeRange { from: i64::MIN, ..range },
    };
    let kind = kind(events);
    let nested = NestedScan { scan: Arc::new(scan), schema, origins, kind, range };
    Ok(match ordered {
        Some(ordered) => Arc::new(SpanScan { ordered, nested: Arc::new(nested) }),
        None => Arc::new(nested),
    })
}

/// A scan of spans: first those of ordered threads, then the others, if there are any.
#[derive(Debug)]
struct SpanScan {
    ordered: EventScan,
    nested: Arc<NestedScan>,
}

impl PartitionStream for SpanScan {
    fn schema(&self) -> &SchemaRef {
        &self.nested.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, nested) = (self.nested.schema.clone(), self.nested.clone());
        let ordered = self.ordered.execute(context.clone());
        let others = futures::stream::once(async move {
            // The scan before has read the directory.
            match nested.scan.archive.directory()?.are_all_ordered() {
                true => Ok::<_, DataFusionError>(futures::stream::empty().boxed()),
                false => Ok(nested.execute(context).boxed()),
            }
        });
        let batches = ordered.chain(others.try_flatten());
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }
}

/// Returns the events that are read for the spans around others.
fn around(events: Events) -> Events {
    Events {
        spans: events.spans || events.instants || events.flows,
        operations: events.operations || events.instants,
        ..events
    }
}

/// Returns the type of the rows of a table.
fn kind(events: Events) -> Emit {
    match events {
        Events { spans: true, .. } => Emit::Span,
        Events { operations: true, .. } => Emit::Operation,
        Events { flows: true, .. } => Emit::Flow,
        _ => Emit::Instant,
    }
}

/// A scan of a table of events with the spans around them.
#[derive(Debug)]
struct NestedScan {
    scan: Arc<EventScan>,
    schema: SchemaRef,
    origins: Vec<Origin>,
    kind: Emit,
    range: TimeRange,
}

impl NestedScan {
    fn sorted(&self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partition: Arc<dyn PartitionStream> = self.scan.clone();
        let raw = self.scan.schema.clone();
        let scan = StreamingTableExec::try_new(raw, vec![partition], None, [], false, None)?;
        let sort = [TRACK, START, ID].map(|column| PhysicalSortExpr {
            expr: Arc::new(ColumnExpr::new(WIDE[column].name, column)),
            options: SortOptions { descending: false, nulls_first: false },
        });
        let ordering = LexOrdering::new(sort)
            .ok_or_else(|| DataFusionError::Internal("no key to sort by".to_owned()))?;
        SortExec::new(ordering, Arc::new(scan)).execute(0, context)
    }
}

impl PartitionStream for NestedScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = self.schema.clone();
        let sorted = match self.sorted(context) {
            Ok(sorted) => sorted,
            Err(error) => {
                let error = futures::stream::iter([Err(error)]);
                return Box::pin(RecordBatchStreamAdapter::new(schema, error));
            }
        };
        let mut nesting = Nesting::new(self);
        let end = futures::stream::iter([None]);
        let batches = sorted.map(Some).chain(end);
        let batches = batches.map(move |batch| nesting.batch(batch.transpose()?));
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }
}

/// Adds parents and depths to sorted events.
struct Nesting {
    schema: SchemaRef,
    origins: Vec<Origin>,
    /// The columns of the scan.
    raw: Vec<usize>,
    kind: Emit,
    range: TimeRange,
    stack: Stack,
    /// Events of one track and time: those that come next may be of the same ones.
    waiting: Vec<RecordBatch>,
}

impl Nesting {
    fn new(scan: &NestedScan) -> Self {
        Self {
            schema: scan.schema.clone(),
            origins: scan.origins.clone(),
            raw: scan.scan.projection.clone(),
            kind: scan.kind,
            range: scan.range,
            stack: Stack::default(),
            waiting: Vec::new(),
        }
    }

    /// Returns the rows of a batch, those at its end excepted, which wait. `None` is the end.
    fn batch(&mut self, batch: Option<RecordBatch>) -> Result<RecordBatch> {
        let is_last = batch.is_none();
        let is_part = batch.as_ref().is_some_and(|batch| self.is_part_of_waiting(batch));
        self.waiting.extend(batch.filter(|batch| batch.num_rows() > 0));
        let schema = match self.waiting.first() {
            Some(first) if !is_part => first.schema(),
            _ => return Ok(RecordBatch::new_empty(self.schema.clone())),
        };
        let batch = concat_batches(&schema, &std::mem::take(&mut self.waiting))?;
        let events = events(&batch);
        let mut groups: Vec<&[Event]> = events.chunk_by(is_together).collect();
        if !is_last {
            let waiting = groups.pop().map_or(0, <[Event]>::len);
            self.waiting.push(batch.slice(events.len() - waiting, waiting));
        }
        let complete = events.len() - self.waiting.iter().map(RecordBatch::num_rows).sum::<usize>();
        self.rows(&batch.slice(0, complete), &groups)
    }

    /// Returns whether the events of a batch are of the track and time of those that wait.
    fn is_part_of_waiting(&self, batch: &RecordBatch) -> bool {
        let (Some(first), 1..) = (self.waiting.first(), batch.num_rows()) else { return false };
        let (first, last) =
            (events(&first.slice(0, 1)), events(&batch.slice(batch.num_rows() - 1, 1)));
        first.iter().zip(&last).all(|(first, last)| is_together(first, last))
    }

    /// Returns the rows of events, which are grouped by track and time.
    fn rows(&mut self, batch: &RecordBatch, groups: &[&[Event]]) -> Result<RecordBatch> {
        let mut places = Vec::with_capacity(batch.num_rows());
        for events in groups {
            let start = places.len();
            places.resize(start + events.len(), (None, 0));
            for place in order(events) {
                places[start + place] = self.stack.event(&events[place]);
            }
        }
        let kinds = batch.column(KIND).as_primitive::<Int64Type>().values();
        let starts = batch.column(START).as_primitive::<Int64Type>().values();
        let is_kept =
            |(kind, start): (&i64, &i64)| *kind == self.kind as i64 && self.range.has(*start);
        let keep: BooleanArray = kinds.iter().zip(starts).map(|row| Some(is_kept(row))).collect();
        let (parents, depths): (Vec<_>, Vec<_>) = places.into_iter().unzip();
        let parents = filter(&Int64Array::from(parents), &keep)?;
        let depths = filter(&Int64Array::from(depths), &keep)?;
        self.output(batch, &keep, &parents, &depths)
    }

    fn output(
        &self,
        batch: &RecordBatch,
        keep: &BooleanArray,
        parents: &ArrayRef,
        depths: &ArrayRef,
    ) -> Result<RecordBatch> {
        let column = |origin: &Origin| match origin {
            Origin::Parent => Ok(parents.clone()),
            Origin::Depth => Ok(depths.clone()),
            Origin::Wide(wide) => {
                let place = self.raw.iter().position(|column| column == wide);
                let place = place.ok_or_else(|| {
                    DataFusionError::Internal("a column is not scanned".to_owned())
                })?;
                Ok(filter(batch.column(place), keep)?)
            }
        };
        let columns = self.origins.iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

/// Returns the events of a batch of [`KEY_COLUMNS`] and others.
fn events(batch: &RecordBatch) -> Vec<Event> {
    let column = |place: usize| batch.column(place).as_primitive::<Int64Type>();
    let (kinds, tracks, starts) = (column(KIND), column(TRACK), column(START));
    let (ends, ids, last_ids) = (column(END), column(ID), column(LAST_ID));
    let spans = [Emit::Span as i64, Emit::Operation as i64];
    let event = |row| Event {
        track: tracks.value(row),
        start: starts.value(row),
        end: ends.value(row),
        id: ids.value(row),
        last_id: last_ids.value(row),
        is_span: spans.contains(&kinds.value(row)),
    };
    (0..batch.num_rows()).map(event).collect()
}

fn is_together(one: &Event, other: &Event) -> bool {
    (one.track, one.start) == (other.track, other.start)
}

#[cfg(test)]
mod tests {
    use trace_format::{EventKind, Record};

    use crate::testing::{archive, complete, event, opened, query};

    const SPANS: &str = "SELECT s.name, p.name, s.depth FROM spans s \
        LEFT JOIN spans p ON s.parent_id = p.id ORDER BY s.start_ns, s.depth";

    #[test]
    fn parents_are_the_spans_around_in_any_order_of_records() {
        let spans = [
            complete("a", 10, 100),
            complete("b", 20, 50),
            complete("c", 20, 30),
            complete("d", 50, 60),
        ];
        let expected = ["a||0", "b|a|1", "c|b|2", "d|a|1"];
        for order in [[0, 1, 2, 3], [2, 1, 3, 0], [3, 2, 1, 0]] {
            let bytes = archive(&order.map(|place| spans[place]));
            assert_eq!(query(&bytes, SPANS), expected, "{order:?}");
        }
    }

    /// Returns spans in the order of their begins, in and beside each other, some at one time.
    fn in_order(seed: u64) -> Vec<Record<'static>> {
        let (mut state, mut now, mut records) = (seed, 0, Vec::new());
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut ends = Vec::new();
        for _ in 0..300 {
            now += random(3);
            ends.retain(|end| *end > now);
            let limit = ends.last().map_or(40, |end| end - now);
            let end = now + random(limit + 1);
            records.push(complete("x", now, end));
            ends.push(end);
        }
        records
    }

    #[test]
    fn spans_in_order_have_the_same_rows_as_by_a_sort() {
        let columns = ["*", "id, parent_id, depth, start_ns, dur_ns, thread", "name, depth, args"];
        let mut ordered = 0;
        for seed in 0..6 {
            let mut records = in_order(seed);
            let bytes = archive(&records);
            ordered += u32::from(opened(&bytes).unwrap().1.directory().unwrap().are_all_ordered());
            // A pair makes its thread one that is sorted.
            records.push(event("pair", 10_000, BEGIN, &[]));
            records.push(event("pair", 10_001, END, &[]));
            let with_pair = archive(&records);
            let (_file, other) = opened(&with_pair).unwrap();
            assert!(!other.directory().unwrap().are_all_ordered());
            for columns in columns {
                let sql = format!("SELECT {columns} FROM spans WHERE name = 'x' ORDER BY id");
                assert_eq!(query(&bytes, &sql), query(&with_pair, &sql), "{seed}: {sql}");
                let part = sql.replace("ORDER", "AND start_ns BETWEEN 100 AND 200 ORDER");
                assert_eq!(query(&bytes, &part), query(&with_pair, &part), "{seed}: {part}");
            }
        }
        assert_eq!(ordered, 6, "all are in order");
    }

    #[test]
    fn open_spans_are_parents_until_their_own_parent_ends() {
        let bytes = archive(&[
            complete("a", 10, 100),
            event("open", 20, EventKind::DurationBegin, &[]),
            complete("b", 30, 40),
            complete("c", 200, 210),
            event("last", 300, EventKind::DurationBegin, &[]),
            complete("d", 310, 320),
        ]);
        let expected = ["a||0", "open|a|1", "b|open|2", "c||0", "last||0", "d|last|1"];
        assert_eq!(query(&bytes, SPANS), expected);
        let open = "SELECT name, dur_ns, is_open FROM spans WHERE is_open ORDER BY start_ns";
        assert_eq!(query(&bytes, open), ["open||true", "last||true"]);
    }

    #[test]
    fn events_at_an_end_belong_to_the_span_whose_end_comes_later() {
        let instant = |ticks| event("i", ticks, EventKind::Instant { scope: None }, &[]);
        let bytes = archive(&[
            event("pair", 10, EventKind::DurationBegin, &[]),
            instant(20),
            event("pair", 20, EventKind::DurationEnd, &[]),
            instant(20),
            complete("whole", 30, 40),
            instant(40),
        ]);
        let sql = "SELECT i.time_ns, s.name, i.depth FROM instants i \
            LEFT JOIN spans s ON i.parent_id = s.id ORDER BY i.id";
        assert_eq!(query(&bytes, sql), ["20|pair|1", "20||0", "40||0"]);
    }

    const BEGIN: EventKind = EventKind::DurationBegin;
    const END: EventKind = EventKind::DurationEnd;

    #[test]
    fn spans_of_one_begin_are_in_the_order_of_their_records() {
        let siblings = archive(&[
            event("a", 33, BEGIN, &[]),
            event("a", 33, END, &[]),
            event("b", 33, BEGIN, &[]),
            event("b", 43, END, &[]),
        ]);
        assert_eq!(query(&siblings, &format!("{SPANS}, s.id")), ["a||0", "b||0"]);
        let never_ended = archive(&[
            event("p", 10, BEGIN, &[]),
            event("x", 10, BEGIN, &[]),
            event("p", 20, END, &[]),
        ]);
        assert_eq!(query(&never_ended, SPANS), ["p||0", "x|p|1"]);
    }

    #[test]
    fn points_before_a_begin_of_their_time_are_not_in_it() {
        let bytes = archive(&[
            event("i", 10, EventKind::Instant { scope: None }, &[]),
            event("f", 10, EventKind::FlowBegin { id: 3 }, &[]),
            event("p", 10, BEGIN, &[]),
            event("i", 10, EventKind::Instant { scope: None }, &[]),
            event("f", 10, EventKind::FlowEnd { id: 3 }, &[]),
            event("p", 20, END, &[]),
        ]);
        let sql = "SELECT parent_id IS NULL, depth FROM instants ORDER BY id";
        assert_eq!(query(&bytes, sql), ["true|0", "false|1"]);
        let sql = "SELECT phase, span_id IS NULL FROM flows ORDER BY id";
        assert_eq!(query(&bytes, sql), ["begin|true", "end|false"]);
    }

    #[test]
    fn events_of_one_time_can_be_more_than_a_batch() {
        let mut records = vec![event("p", 10, BEGIN, &[])];
        for _ in 0..20_000 {
            records.push(event("i", 10, EventKind::Instant { scope: None }, &[]));
        }
        records.extend([event("p", 20, END, &[]), complete("last", 30, 40)]);
        let sql = "SELECT count(*), count(parent_id), min(depth) FROM instants";
        assert_eq!(query(&archive(&records), sql), ["20000|20000|1"]);
        assert_eq!(query(&archive(&records), SPANS), ["p||0", "last||0"]);
    }

    #[test]
    fn a_range_of_time_keeps_the_parents_before_it() {
        let bytes =
            archive(&[complete("a", 10, 100), complete("b", 20, 30), complete("c", 90, 95)]);
        let sql = "SELECT name, depth, parent_id IS NOT NULL FROM spans \
            WHERE start_ns BETWEEN 15 AND 50";
        assert_eq!(query(&bytes, sql), ["b|1|true"]);
    }
}
