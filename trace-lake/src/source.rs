//! Where the rows of tables come from.

use datafusion::arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use tokio::sync::mpsc::Sender;
use trace_format::Item;

use crate::archive::Archive;
use crate::directory::Directory;
use crate::rows::{Cell, Rows};
use crate::time_range::TimeRange;

/// Where the rows of a table come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Each record makes rows of its own.
    Records(fn(&Archive) -> Result<Box<dyn RecordReader + '_>>),
    /// Events, with the durations around them.
    Events(Events),
    /// The threads, processes and clocks of the archive.
    Directory(fn(&Archive, &Directory, &mut Output) -> Result<()>),
}

/// The events that a table has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Events {
    pub(crate) spans: bool,
    pub(crate) instants: bool,
    pub(crate) flows: bool,
    pub(crate) operations: bool,
}

impl Events {
    pub(crate) const NONE: Self =
        Self { spans: false, instants: false, flows: false, operations: false };

    pub(crate) fn has_only_spans(self) -> bool {
        matches!(self, Self { spans: true, instants: false, flows: false, operations: false })
    }
}

/// Makes rows of records.
pub(crate) trait RecordReader {
    /// Adds the rows of a record. `number` is the number of the record in the archive.
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()>;

    /// Adds the last rows.
    fn finish(&mut self, _output: &mut Output) -> Result<()> {
        Ok(())
    }
}

/// The rows of a scan.
pub(crate) struct Output {
    pub(crate) rows: Rows,
    /// The times of the rows that the query needs.
    pub(crate) range: TimeRange,
    pub(crate) batches: Sender<Result<RecordBatch>>,
}

impl Output {
    /// Adds a row, with the value that `value` adds for each projected column.
    #[inline]
    pub(crate) fn row(&mut self, value: impl FnMut(usize, &mut Cell<'_>)) -> Result<()> {
        match self.rows.row(value)? {
            Some(batch) => self.send(batch),
            None => Ok(()),
        }
    }

    /// Ends a row.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.rows.end()? {
            Some(batch) => self.send(batch),
            None => Ok(()),
        }
    }

    fn send(&mut self, batch: RecordBatch) -> Result<()> {
        // Nobody sees this error: the query has ended.
        let ended = |_| DataFusionError::Execution("the query has ended".to_owned());
        self.batches.blocking_send(Ok(batch)).map_err(ended)
    }

    /// Sends the last rows.
    pub(crate) fn finish(mut self) -> Result<()> {
        match self.rows.len() {
            0 => Ok(()),
            _ => {
                let batch = self.rows.finish()?;
                self.send(batch)
            }
        }
    }
}
