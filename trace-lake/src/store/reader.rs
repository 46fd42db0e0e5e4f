//! Readers of Parquet files whose errors name the file.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::error::Result;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::arrow::ARROW_SCHEMA_META_KEY;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader,
};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::future::BoxFuture;
use futures::FutureExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::Store;

/// The bytes that are read first at the end of a file: of most files, all that describes its pages.
const END_BYTES: usize = 32 << 10;

/// The files of a store that queries have opened, with their lengths.
#[derive(Debug, Default)]
pub(crate) struct Opened(Mutex<BTreeMap<Path, u64>>);

impl Opened {
    fn note(&self, path: Path, bytes: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, bytes);
    }

    pub(super) fn files(&self) -> BTreeMap<Path, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Opens the files of a store.
#[derive(Debug, Clone)]
pub(crate) struct Readers {
    pub(super) store: Store,
    pub(super) opened: Arc<Opened>,
}

impl Readers {
    pub(crate) fn new(store: Store, opened: Arc<Opened>) -> Self {
        Self { store, opened }
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
        self.opened.note(path.clone(), bytes);
        Ok(Box::new(FileReader { store: self.store.clone(), path, bytes }))
    }
}

/// Returns the message of a file of another length than its change records.
pub(super) fn length(found: u64, recorded: u64) -> String {
    format!("it has {found} bytes, and not {recorded} as recorded")
}

/// Removes the Arrow schema that the writer embeds. The schema of Parquet gives the columns of
/// tables the same types, and the decoder of the embedded one panics if it is damaged.
fn without_arrow_schema(metadata: ParquetMetaData) -> ParquetMetaData {
    let file = metadata.file_metadata();
    let is_kept = |pair: &KeyValue| pair.key != ARROW_SCHEMA_META_KEY;
    let kept = |pairs: &Vec<KeyValue>| pairs.iter().filter(|pair| is_kept(pair)).cloned().collect();
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().map(kept),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let mut parts = metadata.into_builder();
    let (columns, offsets) = (parts.take_column_index(), parts.take_offset_index());
    ParquetMetaDataBuilder::new(file)
        .set_row_groups(parts.take_row_groups())
        .set_column_index(columns)
        .set_offset_index(offsets)
        .build()
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

    /// Returns that the file has another length than its change records, if so.
    async fn other_length(&self) -> Option<String> {
        let found = self.store.objects().head(&self.path).await.ok()?.size;
        (found != self.bytes).then(|| length(found, self.bytes))
    }

    async fn read(&self, ranges: &[Range<u64>]) -> ParquetResult<Vec<Bytes>> {
        let read = self.store.objects().get_ranges(&self.path, ranges).await;
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                let other = self.other_length().await;
                return Err(self.failed(other.unwrap_or_else(|| error.to_string())));
            }
        };
        let is_whole = |(range, bytes): (&Range<u64>, &Bytes)| {
            range.end.saturating_sub(range.start) == bytes.len() as u64
        };
        if read.len() != ranges.len() || !ranges.iter().zip(&read).all(is_whole) {
            let ends = || format!("it ends before its {} bytes", self.bytes);
            return Err(self.failed(self.other_length().await.unwrap_or_else(ends)));
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
            let metadata = metadata.map(|metadata| Arc::new(without_arrow_schema(metadata)));
            metadata.map_err(|error| match is_named(&error) {
                true => error,
                false => self.failed(error),
            })
        }
        .boxed()
    }
}
