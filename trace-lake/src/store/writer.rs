//! Writing the files of a store.

use anyhow::{anyhow, Result};
use bytes::Bytes;
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::{max, min};
use datafusion::arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::parquet::arrow::async_writer::AsyncFileWriter;
use datafusion::parquet::arrow::AsyncArrowWriter;
use datafusion::parquet::basic::Encoding;
use datafusion::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use datafusion::parquet::schema::types::ColumnPath;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::TryStreamExt;
use object_store::buffered::BufWriter;
use sha2::{Digest, Sha256};

use super::names;
use super::state::{FileEntry, Partition};
use super::verify::hexadecimal;
use super::Store;
use crate::columns::{Column, Kind};
use crate::output::{parquet_properties, without_statistics};
use crate::tables::Table;

/// The rows of a page: a query for a short time reads few pages.
const PAGE_ROWS: usize = 4096;

/// The parts of a large file that are sent at once, of 10 MiB each.
const PARTS: usize = 2;

/// Writes rows to a new file. Returns `None` if there are none: then there is no file. The file is
/// complete when this returns, and no query reads it before a change names it.
pub(crate) async fn write(
    store: &Store,
    table: &Table,
    partition: &Partition,
    mut batches: BoxStream<'_, datafusion::error::Result<RecordBatch>>,
) -> Result<Option<FileEntry>> {
    let mut file: Option<NewFile> = None;
    loop {
        let batch = match batches.try_next().await {
            Ok(batch) => batch,
            Err(error) => {
                discard(file).await;
                return Err(error.into());
            }
        };
        let Some(batch) = batch else { break };
        if batch.num_rows() == 0 {
            continue;
        }
        let mut open = match file.take() {
            Some(open) => open,
            None => NewFile::create(store, table, partition, batch.schema())?,
        };
        match open.write(&batch).await {
            Ok(()) => file = Some(open),
            Err(error) => return Err(failed(store, &open.entry.path, error)),
        }
    }
    match file {
        Some(file) => file.finish(store).await.map(Some),
        None => Ok(None),
    }
}

/// The table and the column whose numbers repeat those of rows shortly before, in another order:
/// compression finds the repetitions, which differences would hide.
const REPEATED: (&str, &str) = ("spans", "parent_id");

/// Returns how a file of a table is written. Other numbers are stored as differences, which each
/// page has: a dictionary would have to be read as a whole for one page.
fn properties(table: &Table) -> WriterProperties {
    let properties = parquet_properties().set_data_page_row_count_limit(PAGE_ROWS);
    let is_number = |column: &&Column| matches!(column.kind, Kind::Int | Kind::Unsigned);
    let numbers = table.columns.iter().filter(is_number);
    let encoded = |properties: WriterPropertiesBuilder, column: &Column| {
        let path = ColumnPath::from(column.name);
        let encoding = match (table.name, column.name) == REPEATED {
            true => Encoding::PLAIN,
            false => Encoding::DELTA_BINARY_PACKED,
        };
        let properties = properties.set_column_dictionary_enabled(path.clone(), false);
        properties.set_column_encoding(path, encoding)
    };
    let reals = table.columns.iter().filter(|column| matches!(column.kind, Kind::Real));
    let properties = reals.fold(properties, |all, column| without_statistics(all, column.name));
    numbers.fold(properties, encoded).build()
}

/// Ends the upload of a file whose rows cannot be made. After an error of the storage, the writer
/// is only dropped.
async fn discard(file: Option<NewFile>) {
    if let Some(file) = file {
        // A storage forgets uploads that have no end, after a time that it is configured for.
        let _ = file.writer.into_inner().objects.abort().await;
    }
}

fn failed(store: &Store, path: &str, error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot write {}: {error}", store.name_of(path))
}

/// Writes bytes to an object, and hashes them.
struct HashedWriter {
    objects: BufWriter,
    hash: Sha256,
}

impl AsyncFileWriter for HashedWriter {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, datafusion::parquet::errors::Result<()>> {
        self.hash.update(&bytes);
        AsyncFileWriter::write(&mut self.objects, bytes)
    }

    fn complete(&mut self) -> BoxFuture<'_, datafusion::parquet::errors::Result<()>> {
        AsyncFileWriter::complete(&mut self.objects)
    }
}

struct NewFile {
    writer: AsyncArrowWriter<HashedWriter>,
    entry: FileEntry,
    /// The number of the column with the time.
    time: Option<usize>,
}

impl NewFile {
    fn create(
        store: &Store,
        table: &Table,
        partition: &Partition,
        schema: SchemaRef,
    ) -> Result<Self> {
        let path = names::file(table.name, partition, &names::random());
        let objects = BufWriter::new(store.objects().clone(), names::path(&path));
        let objects = objects.with_max_concurrency(PARTS);
        let objects = HashedWriter { objects, hash: Sha256::new() };
        let time = table.time.and_then(|time| schema.index_of(time).ok());
        let writer = AsyncArrowWriter::try_new(objects, schema, Some(properties(table)));
        let writer = writer.map_err(|error| failed(store, &path, error))?;
        let (table, partition) = (table.name.to_owned(), partition.clone());
        let (sha256, times) = (None, None);
        let entry = FileEntry { path, table, partition, bytes: 0, sha256, rows: 0, times };
        Ok(Self { writer, entry, time })
    }

    async fn write(&mut self, batch: &RecordBatch) -> datafusion::parquet::errors::Result<()> {
        self.entry.rows += batch.num_rows() as u64;
        let times = self.time.map(|time| batch.column(time).as_primitive::<Int64Type>());
        if let Some(range) = times.and_then(|times| Some((min(times)?, max(times)?))) {
            let (first, last) = self.entry.times.unwrap_or(range);
            self.entry.times = Some((first.min(range.0), last.max(range.1)));
        }
        self.writer.write(batch).await
    }

    async fn finish(mut self, store: &Store) -> Result<FileEntry> {
        self.writer.finish().await.map_err(|error| failed(store, &self.entry.path, error))?;
        self.entry.bytes = self.writer.bytes_written() as u64;
        self.entry.sha256 = Some(hexadecimal(self.writer.into_inner().hash));
        Ok(self.entry)
    }
}
