//! Scans of tables: an archive is read on a thread of its own, and its rows arrive as batches.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;

use crate::archive::Archive;
use crate::columns::{projected, Column};
use crate::rows::Rows;
use crate::source::{Events, Output, RecordReader, Source};
use crate::tables::{Table, Threads, WideReader, WIDE};
use crate::time_range::TimeRange;

/// The batches that wait for the query.
const WAITING_BATCHES: usize = 2;

/// A scan of a table whose rows are those of records.
#[derive(Debug)]
pub(crate) struct RecordScan {
    archive: Arc<Archive>,
    table: &'static Table,
    projection: Vec<usize>,
    schema: SchemaRef,
    range: TimeRange,
}

impl RecordScan {
    pub(crate) fn new(
        archive: Arc<Archive>,
        table: &'static Table,
        projection: Vec<usize>,
        range: TimeRange,
    ) -> Self {
        let schema = projected(table.columns, &projection);
        Self { archive, table, projection, schema, range }
    }
}

impl PartitionStream for RecordScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (archive, table) = (self.archive.clone(), self.table);
        let (schema, columns) = (self.schema.clone(), table.columns);
        stream(schema, columns, &self.projection, self.range, move |mut output| {
            match table.source {
                Source::Records(reader) => read(&archive, &mut *reader(&archive)?, &mut output)?,
                Source::Directory(write) => write(&archive, archive.directory()?, &mut output)?,
                // They have a scan of their own.
                Source::Events(_) => {}
            }
            output.finish()
        })
    }
}

/// A scan of events, as rows of [`WIDE`].
pub(crate) struct EventScan {
    pub(crate) archive: Arc<Archive>,
    pub(crate) events: Events,
    pub(crate) threads: Threads,
    pub(crate) projection: Vec<usize>,
    pub(crate) schema: SchemaRef,
    pub(crate) range: TimeRange,
}

impl fmt::Debug for EventScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventScan").field("events", &self.events).finish_non_exhaustive()
    }
}

impl PartitionStream for EventScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (archive, events, threads) = (self.archive.clone(), self.events, self.threads);
        let (schema, range) = (self.schema.clone(), self.range);
        stream(schema, WIDE, &self.projection, range, move |mut output| {
            if threads == Threads::Ordered && !archive.directory()?.has_ordered() {
                return Ok(());
            }
            let mut reader = WideReader::new(&archive, events, threads, &output.rows)?;
            read(&archive, &mut reader, &mut output)?;
            output.finish()
        })
    }
}

fn read(archive: &Archive, reader: &mut dyn RecordReader, output: &mut Output) -> Result<()> {
    archive.each(|item, number| reader.record(item, number, output))?;
    reader.finish(output)
}

/// Reads on a thread of its own.
fn stream(
    schema: SchemaRef,
    columns: &'static [Column],
    projection: &[usize],
    range: TimeRange,
    read: impl FnOnce(Output) -> Result<()> + Send + 'static,
) -> SendableRecordBatchStream {
    let mut builder = RecordBatchReceiverStreamBuilder::new(schema.clone(), WAITING_BATCHES);
    let batches = builder.tx();
    let projection = projection.to_vec();
    builder.spawn_blocking(move || {
        let rows = Rows::new(columns, &projection, schema);
        read(Output { rows, range, batches })
    });
    builder.build()
}
