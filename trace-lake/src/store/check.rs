//! Which files of a store are damaged, after a query has failed.

use std::sync::Arc;

use datafusion::parquet::arrow::ParquetRecordBatchStreamBuilder;
use datafusion::parquet::errors::Result;
use futures::TryStreamExt;

use super::names;
use super::reader::FileReader;
use super::snapshot::Snapshot;

/// Returns the names of the damaged files among those that the queries of a session have opened.
/// Reads them all.
pub(crate) async fn damaged(snapshot: &Arc<Snapshot>) -> Vec<String> {
    let mut damaged = Vec::new();
    for path in snapshot.opened() {
        let Some(file) = snapshot.state.files.get(&path) else { continue };
        let path = names::path(&file.path);
        let reader = FileReader { store: snapshot.store.clone(), path, bytes: file.bytes };
        if read(reader).await.is_err() {
            damaged.push(snapshot.store.name_of(&file.path));
        }
    }
    damaged
}

async fn read(reader: FileReader) -> Result<()> {
    let mut batches = ParquetRecordBatchStreamBuilder::new(reader).await?.build()?;
    while batches.try_next().await?.is_some() {}
    Ok(())
}
