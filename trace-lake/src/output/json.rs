//! An array of objects, one a line.

use std::io::Write;

use anyhow::Result;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::json::writer::{LineDelimited, WriterBuilder};

use super::Sink;

pub(super) struct Json<W> {
    output: W,
    has_rows: bool,
}

impl<W: Write> Json<W> {
    pub(super) fn new(output: W) -> Self {
        Self { output, has_rows: false }
    }
}

impl<W: Write> Sink for Json<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, LineDelimited>(Vec::new());
        writer.write(batch)?;
        writer.finish()?;
        for line in writer.into_inner().split(|byte| *byte == b'\n').filter(|it| !it.is_empty()) {
            self.output.write_all(if self.has_rows { b",\n" } else { b"[\n" })?;
            self.output.write_all(line)?;
            self.has_rows = true;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.output.write_all(if self.has_rows { b"\n]\n" } else { b"[]\n" })?;
        Ok(self.output.flush()?)
    }
}
