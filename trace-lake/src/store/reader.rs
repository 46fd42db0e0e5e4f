//! Readers of Parquet files whose errors name the file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::error::Result;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::future::BoxFuture;
use futures::FutureExt;
use object_store::path::Path;
use object_store::ObjectStore;

use super::snapshot::Snapshot;
use super::Store;

/// The bytes that are read first at the end of a file: of most files, all that describes its pages.
const END_BYTES: usize = 32 << 10;

/// Opens the files of a store.
pub(super) struct Readers(pub(super) Arc<Snapshot>);

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").finish_non_exhaustive()
    }
}

impl ParquetFileReaderFactory for Readers {
    fn create_reader(
        &self,
        _partition: usize,
        file: PartitionedFile,
        _size_hint: Option<usize>,
        _metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let (path, bytes) = (file.object_meta.location, file.object_meta.size);
        self.0.open(path.as_ref());
        Ok(Box::new(FileReader { store: self.0.store.clone(), path, bytes }))
    }
}

/// A reader of a file.
pub(super) struct FileReader {
    pub(super) store: Store,
    pub(super) path: Path,
    /// The length of the file, as the change that has added it records it.
    pub(super) bytes: u64,
}

impl FileReader {
    fn failed(&self, error: impl fmt::Display) -> ParquetError {
        let name = self.store.name_of(self.path.as_ref());
        ParquetError::General(format!("cannot read {name}: {error}"))
    }

    async fn read(&self, ranges: &[Range<u64>]) -> ParquetResult<Vec<Bytes>> {
        let read = self.store.objects().get_ranges(&self.path, ranges).await;
        let read = read.map_err(|error| self.failed(error))?;
        let is_whole = |(range, bytes): (&Range<u64>, &Bytes)| {
            range.end.saturating_sub(range.start) == bytes.len() as u64
        };
        if read.len() != ranges.len() || !ranges.iter().zip(&read).all(is_whole) {
            return Err(self.failed(format!("it ends before its {} bytes", self.bytes)));
        }
        Ok(read)
    }

    async fn read_one(&self, range: Range<u64>) -> ParquetResult<Bytes> {
        let mut read = self.read(&[range]).await?;
        read.pop().ok_or_else(|| self.failed("nothing was read"))
    }
}

impl AsyncFileReader for FileReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.read_one(range).boxed()
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move { self.read(&ranges).await }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            let mut reader = ParquetMetaDataReader::new().with_prefetch_hint(Some(END_BYTES));
            if let Some(options) = options {
                reader = reader
                    .with_column_index_policy(options.column_index_policy())
                    .with_offset_index_policy(options.offset_index_policy());
            }
            let bytes = self.bytes;
            let metadata = reader.load_and_finish(&mut *self, bytes).await;
            let is_named = |error: &ParquetError| error.to_string().contains("cannot read ");
            metadata.map(Arc::new).map_err(|error| match is_named(&error) {
                true => error,
                false => self.failed(error),
            })
        }
        .boxed()
    }
}
