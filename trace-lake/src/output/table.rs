//! Aligned columns.
//!
//! The first rows decide on the widths, so that a result of any length is written as it comes.

use std::io::Write;

use anyhow::Result;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use trace_convert::visible;

use super::text::cell;
use super::Sink;

/// The rows that decide on the widths.
const SAMPLE_ROWS: usize = 1000;

/// The widest column to which others are aligned.
const MAX_WIDTH: usize = 60;

pub(super) struct Table<W> {
    output: W,
    names: Vec<String>,
    is_number: Vec<bool>,
    /// The first rows.
    waiting: Vec<Vec<String>>,
    /// The widths, once they are known.
    widths: Option<Vec<usize>>,
}

impl<W: Write> Table<W> {
    pub(super) fn new(schema: SchemaRef, output: W) -> Self {
        let names = schema.fields().iter().map(|field| visible(field.name()).into_owned());
        let is_number = schema.fields().iter().map(|field| field.data_type().is_numeric());
        let (names, is_number) = (names.collect(), is_number.collect());
        Self { output, names, is_number, waiting: Vec::new(), widths: None }
    }

    /// Writes the header and the first rows.
    fn start(&mut self) -> Result<()> {
        let mut widths: Vec<usize> = self.names.iter().map(|name| width(name)).collect();
        for row in &self.waiting {
            for (most, cell) in widths.iter_mut().zip(row) {
                *most = (*most).max(width(cell).min(MAX_WIDTH));
            }
        }
        self.line(&self.names.clone(), &widths)?;
        for row in std::mem::take(&mut self.waiting) {
            self.line(&row, &widths)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn line(&mut self, cells: &[String], widths: &[usize]) -> Result<()> {
        let mut line = String::new();
        for ((cell, most), is_number) in cells.iter().zip(widths).zip(&self.is_number) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let padding = " ".repeat(most.saturating_sub(width(cell)));
            match is_number {
                true => line.extend([padding.as_str(), cell.as_str()]),
                false => line.extend([cell.as_str(), padding.as_str()]),
            }
        }
        Ok(writeln!(self.output, "{}", line.trim_end())?)
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

impl<W: Write> Sink for Table<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| cell(column, row));
            let cells = cells.map(|text| Ok(text?.map_or(String::new(), |it| shown(&it))));
            let cells = cells.collect::<Result<Vec<String>>>()?;
            match self.widths.take() {
                None => {
                    self.waiting.push(cells);
                    if self.waiting.len() >= SAMPLE_ROWS {
                        self.start()?;
                    }
                }
                Some(widths) => {
                    self.line(&cells, &widths)?;
                    self.widths = Some(widths);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.widths.is_none() && !self.names.is_empty() {
            self.start()?;
        }
        Ok(self.output.flush()?)
    }
}

/// Returns a cell with control characters escaped.
fn shown(text: &str) -> String {
    visible(text).into_owned()
}
