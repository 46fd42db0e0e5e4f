//! Results in the format that the caller asked for.

mod failure;
mod file;
mod json;
mod parquet;
mod table;
mod text;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{bail, Result};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;

use crate::cli::Format;
use crate::message::HINT;
use crate::panicked::caught;
use failure::KeptErrors;
use file::OutputFile;
pub(crate) use file::{refuse_same_file, BytesFile};
pub use parquet::parquet_writer;
pub(crate) use parquet::{parquet_properties, without_statistics};

/// Writes the batches of a result.
pub trait Sink {
    /// Writes a batch.
    ///
    /// # Errors
    ///
    /// Writing failed.
    fn batch(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes the end.
    ///
    /// # Errors
    ///
    /// Writing failed.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Where results go.
#[derive(Debug, Clone)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// The file, or `None` for standard output.
    pub path: Option<PathBuf>,
}

impl Output {
    /// Writes the result of a query. A regular file gets its name when it is complete.
    ///
    /// # Errors
    ///
    /// The query failed, or writing did.
    pub async fn write(&self, frame: DataFrame) -> Result<()> {
        let Some(path) = &self.path else {
            if self.format == Format::Parquet {
                bail!("Parquet cannot be written to standard output{HINT}use -o FILE.parquet");
            }
            return write_to(frame, self.format, Box::new(io::stdout())).await;
        };
        let file = OutputFile::create(path)?;
        write_to(frame, self.format, Box::new(file.open()?)).await?;
        file.finish()
    }
}

/// Writes a file, which gets its name when it is complete.
///
/// # Errors
///
/// Writing failed.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = BytesFile::create(path)?;
    file.write(bytes)?;
    file.finish()
}

/// Writes the result of a query.
///
/// # Errors
///
/// The query failed, or writing did.
pub async fn write_to(
    frame: DataFrame,
    format: Format,
    output: Box<dyn Write + Send + '_>,
) -> Result<()> {
    let mut batches = frame.execute_stream().await?;
    let output = KeptErrors::new(output);
    let failure = output.failure();
    // No header before an error: the first batch can fail.
    let first = next(&mut batches).await?;
    let sink = sink(format, batches.schema(), BufWriter::new(output));
    let mut sink = sink.map_err(|error| failure.or(error))?;
    if let Some(batch) = first {
        sink.batch(&batch).map_err(|error| failure.or(error))?;
    }
    while let Some(batch) = next(&mut batches).await? {
        sink.batch(&batch).map_err(|error| failure.or(error))?;
    }
    sink.finish().map_err(|error| failure.or(error))
}

async fn next(
    batches: &mut SendableRecordBatchStream,
) -> datafusion::error::Result<Option<RecordBatch>> {
    let batch = caught(batches.next()).await;
    batch.map_err(|panic| DataFusionError::External(panic.into()))?.transpose()
}

fn sink<'a>(
    format: Format,
    schema: SchemaRef,
    output: BufWriter<KeptErrors<'a>>,
) -> Result<Box<dyn Sink + 'a>> {
    Ok(match format {
        Format::Table => Box::new(table::Table::new(schema, output)),
        Format::Csv => {
            let mut writer = csv::WriterBuilder::new().with_header(true).build(output);
            // A header also without rows.
            writer.write(&text::batch(&RecordBatch::new_empty(schema))?)?;
            Box::new(Csv(writer))
        }
        Format::Json => Box::new(json::Json::new(output)),
        Format::Arrow => Box::new(Arrow(StreamWriter::try_new(output, &schema)?)),
        Format::Parquet => Box::new(parquet::Parquet::new(output, schema)?),
    })
}

struct Csv<W: Write>(csv::Writer<W>);

impl<W: Write> Sink for Csv<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.0.write(&text::batch(batch)?)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(self.0.into_inner().flush()?)
    }
}

struct Arrow<W: Write>(StreamWriter<W>);

impl<W: Write> Sink for Arrow<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.0.write(batch)?)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.0.finish()?;
        Ok(self.0.get_mut().flush()?)
    }
}

#[cfg(test)]
mod tests;
