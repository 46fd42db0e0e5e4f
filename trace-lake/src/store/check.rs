//! Which file of a store is damaged, after a query has failed.

use std::sync::Arc;

use datafusion::parquet::arrow::ParquetRecordBatchStreamBuilder;
use datafusion::parquet::errors::Result;
use futures::TryStreamExt;

use super::names;
use super::reader::FileReader;
use super::snapshot::Snapshot;
use crate::message::say;

/// Returns the name of a damaged file among those that the queries of a session have opened. Reads
/// them until it finds one.
pub(crate) async fn damaged(snapshot: &Arc<Snapshot>) -> Option<String> {
    let opened = snapshot.opened();
    say(&format!("a file cannot be decoded; reading up to {} files to find it", opened.len()));
    for path in opened {
        let Some(file) = snapshot.state.files.get(&path) else { continue };
        let path = names::path(&file.path);
        let reader = FileReader { store: snapshot.store.clone(), path, bytes: file.bytes };
        if read(reader).await.is_err() {
            return Some(snapshot.store.name_of(&file.path));
        }
    }
    None
}

async fn read(reader: FileReader) -> Result<()> {
    let mut batches = ParquetRecordBatchStreamBuilder::new(reader).await?.build()?;
    while batches.try_next().await?.is_some() {}
    Ok(())
}
