//! Which file of a store is damaged, after a query has failed.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::ParquetRecordBatchStreamBuilder;
use datafusion::parquet::errors::{ParquetError, Result};
use futures::TryStreamExt;

use super::reader::{FileReader, Readers};
use crate::message::say;
use crate::panicked::{caught, Panicked};

/// Returns whether a query failed because of a file.
pub(crate) fn is_of_file(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::ParquetError(_) => true,
        DataFusionError::External(error) => error.is::<Panicked>(),
        DataFusionError::ArrowError(error, _) => {
            matches!(**error, ArrowError::ParquetError(_) | ArrowError::ExternalError(_))
        }
        _ => false,
    }
}

/// Returns the name of a damaged file among those that were opened, if `message` does not name it.
/// Reads them until it finds one.
pub(crate) async fn damaged(readers: &Readers, message: &str) -> Option<String> {
    let store = &readers.store;
    if message.contains(&format!("cannot read {}", store.name_of(""))) {
        return None;
    }
    let opened = readers.opened.files();
    say(&format!("a file cannot be decoded; reading up to {} files to find it", opened.len()));
    for (path, bytes) in opened {
        let name = store.name_of(path.as_ref());
        if decode(FileReader { store: store.clone(), path, bytes }).await.is_err() {
            return Some(name);
        }
    }
    None
}

/// Reads all rows of a file.
pub(super) async fn decode(reader: FileReader) -> Result<()> {
    let read = caught(read(reader)).await;
    read.unwrap_or_else(|panic| Err(ParquetError::External(panic.into())))
}

async fn read(reader: FileReader) -> Result<()> {
    let mut batches = ParquetRecordBatchStreamBuilder::new(reader).await?.build()?;
    while batches.try_next().await?.is_some() {}
    Ok(())
}
