//! Parquet files: compressed with zstd, with statistics of row groups and pages.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder,
};
use datafusion::parquet::schema::types::ColumnPath;

use super::Sink;
use crate::tables::SCHEMA_VERSION;

/// The most rows of a row group: a reader that needs a part of the time reads few of them.
const GROUP_ROWS: usize = 256 << 10;

/// The bytes with which a row group ends. The writer has them in memory.
const GROUP_BYTES: usize = 128 << 20;

/// The level of zstd. Level 1 takes 3 % more bytes, level 9 three times as long.
const LEVEL: i32 = 3;

/// Returns a writer of a Parquet file.
///
/// # Errors
///
/// The schema has a type that Parquet lacks.
pub fn parquet_writer<W: Write + Send>(output: W, schema: SchemaRef) -> Result<ArrowWriter<W>> {
    let is_real = |field: &&Arc<Field>| *field.data_type() == DataType::Float64;
    let reals = schema.fields().iter().filter(is_real);
    let properties = reals.fold(parquet_properties(), |properties, field| {
        without_statistics(properties, field.name())
    });
    Ok(ArrowWriter::try_new(output, schema, Some(properties.build()))?)
}

/// Leaves out the statistics of a column of real numbers. They do not count NaN, which queries have
/// above all numbers: a reader would leave out rows by them.
pub(crate) fn without_statistics(
    properties: WriterPropertiesBuilder,
    column: &str,
) -> WriterPropertiesBuilder {
    properties.set_column_statistics_enabled(ColumnPath::from(column), EnabledStatistics::None)
}

/// Returns the properties of all Parquet files.
pub(crate) fn parquet_properties() -> WriterPropertiesBuilder {
    let version = SCHEMA_VERSION.to_string();
    let version = KeyValue::new("trace.schema_version".to_owned(), version);
    let level = ZstdLevel::try_new(LEVEL).unwrap_or_default();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .set_key_value_metadata(Some(vec![version]))
}

pub(super) struct Parquet<W: Write>(ArrowWriter<W>);

impl<W: Write + Send> Parquet<W> {
    pub(super) fn new(output: W, schema: SchemaRef) -> Result<Self> {
        parquet_writer(output, schema).map(Self)
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.0.write(batch)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(self.0.into_inner()?.flush()?)
    }
}
