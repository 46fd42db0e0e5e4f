//! The rows so far.

use std::io;

use trace_analyze::spans::Span;

use super::row::Row;
use super::texts::{Place, Texts};
use super::{arguments, cell};
use crate::sorted::Sorted;
use crate::visible_json;

/// The size of the rows in memory while an archive is read, in bytes.
const RUN_BYTES: usize = 2 << 20;

/// The rows so far.
#[derive(Debug)]
pub(super) struct Table {
    /// The arguments of begins and ends.
    pub(super) texts: Texts,
    sorted: Sorted<Row>,
    rows: u64,
    /// The arguments of a begin and its end.
    lines: Vec<u8>,
    /// The arguments of a row, and its last cells.
    object: String,
    cells: String,
}

impl Default for Table {
    fn default() -> Self {
        let (texts, sorted) = (Texts::default(), Sorted::new(RUN_BYTES));
        let (object, cells) = (String::new(), String::new());
        Self { texts, sorted, rows: 0, lines: Vec::new(), object, cells }
    }
}

impl Table {
    /// Adds a duration.
    pub(super) fn duration(&mut self, span: &Span<Option<Place>>) -> io::Result<()> {
        let begin = span.rate.to_nanos(span.begin);
        let row = Row {
            ticks: span.begin,
            order: !span.rate.to_nanos(span.end),
            length: span.nanos(),
            own: span.self_nanos(),
            ..Row::new(span.thread, span.role.into(), span.label, begin)
        };
        self.add_pair(row, span.begin_value, span.end_value)
    }

    /// Adds the row of a begin and its end, with the arguments of both.
    pub(super) fn add_pair(
        &mut self,
        row: Row,
        begin: Option<Place>,
        end: Option<Place>,
    ) -> io::Result<()> {
        if begin.is_none() && end.is_none() {
            return self.add(row, ("", ""), "");
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        self.texts.get(begin, &mut lines)?;
        let middle = lines.len();
        self.texts.get(end, &mut lines)?;
        let text = std::str::from_utf8(&lines).unwrap_or_default();
        self.add(row, text.split_at_checked(middle).unwrap_or_default(), "")?;
        self.lines = lines;
        Ok(())
    }

    /// Adds a row with the lines of its arguments, and its message.
    pub(super) fn add(
        &mut self,
        row: Row,
        (begin, end): (&str, &str),
        message: &str,
    ) -> io::Result<()> {
        self.rows += 1;
        let order = if row.kind.is_duration() { row.order } else { self.rows };
        let text = self.last_cells(begin, end, message).into();
        self.sorted.push(Row { order, text, ..row })
    }

    /// Returns the cells of arguments and message, or an empty text if both are empty.
    fn last_cells(&mut self, begin: &str, end: &str, message: &str) -> &str {
        self.cells.clear();
        self.object.clear();
        if begin.is_empty() && end.is_empty() && message.is_empty() {
            return "";
        }
        arguments::add_object(&mut self.object, begin, end);
        cell::add_visible(&mut self.cells, &visible_json(&self.object));
        self.cells.push(',');
        cell::add_cell(&mut self.cells, message);
        &self.cells
    }

    /// Returns the sorted rows, and their number.
    pub(super) fn finish(mut self) -> (Sorted<Row>, u64) {
        self.sorted.finish();
        (self.sorted, self.rows)
    }
}
