//! What queries read: an archive, or a store of many.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::prelude::{col, lit, SessionContext};
use futures::TryStreamExt;
use tokio::runtime::Handle;

use crate::archive::Archive;
use crate::directory::Clock;
use crate::message::HINT;
use crate::store::named::NamedStore;
use crate::store::snapshot::Snapshot;
use crate::store::table::register;
use crate::tables::{values_of, TABLES};

/// The memory of a value beside its text: a map has up to two places for each.
const VALUE_BYTES: usize = 2 * size_of::<(i64, Option<String>)>();

/// What queries read.
#[derive(Debug, Clone)]
pub enum Subject {
    /// An archive.
    Archive(Arc<Archive>),
    /// A store.
    Store(Arc<Snapshot>),
    /// A store whose files a plan of another machine has.
    Named(Arc<NamedStore>),
}

impl Subject {
    /// Returns the times of the first and the last record in nanoseconds.
    pub(crate) fn extent(&self) -> Result<Option<(i64, i64)>> {
        match self {
            Self::Archive(archive) => Ok(archive.directory()?.extent),
            Self::Store(snapshot) => Ok(snapshot.state.extent()),
            Self::Named(store) => Ok(wait(store.snapshot())?.state.extent()),
        }
    }

    /// Converts times to a clock. The times of a store are those since 1970.
    pub(crate) fn converter(&self, clock: Clock) -> Result<impl Fn(i64) -> Option<i64> + '_> {
        let clocks = match self {
            Self::Archive(archive) => Some(&archive.directory()?.clocks),
            Self::Store(_) | Self::Named(_) => None,
        };
        Ok(move |nanos| match clocks {
            Some(clocks) => clocks.convert(nanos, clock),
            None => (clock == Clock::Realtime).then_some(nanos),
        })
    }

    /// Returns the values of arguments with this key, by the ids of their owners. The calling
    /// thread may block. `memory` grows by the memory of those of a store, or this fails.
    pub(crate) fn values_of(
        &self,
        key: &str,
        memory: &MemoryReservation,
    ) -> Result<HashMap<i64, Option<String>>> {
        match self {
            Self::Archive(archive) => values_of(archive, key),
            Self::Store(snapshot) => wait(values_in_store(snapshot, key, memory)),
            Self::Named(store) => wait(async {
                let snapshot = store.snapshot().await?;
                values_in_store(snapshot, key, memory).await
            }),
        }
    }
}

/// Waits for the storage. A function of the engine cannot wait in another way.
fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::task::block_in_place(|| Handle::current().block_on(future))
}

async fn values_in_store(
    snapshot: &Arc<Snapshot>,
    key: &str,
    memory: &MemoryReservation,
) -> Result<HashMap<i64, Option<String>>> {
    let context = SessionContext::new();
    register(&context, snapshot, TABLES.iter().filter(|table| table.name == "arguments"))?;
    let rows = context.table("arguments").await?.filter(col("key").eq(lit(key)))?;
    let rows = rows.select_columns(&["owner_id", "text"])?;
    let mut batches = rows.execute_stream().await?;
    let mut values = HashMap::new();
    while let Some(batch) = batches.try_next().await? {
        let (ids, texts) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1));
        let texts = texts.as_string::<i32>();
        let bytes = batch.num_rows() * VALUE_BYTES + texts.value_data().len();
        memory.try_grow(bytes).map_err(|_| too_large(key))?;
        let text = |row| texts.is_valid(row).then(|| texts.value(row).to_owned());
        values.extend((0..batch.num_rows()).map(|row| (ids.value(row), text(row))));
    }
    Ok(values)
}

fn too_large(key: &str) -> DataFusionError {
    DataFusionError::ResourcesExhausted(format!(
        "the values of the key {key} need more than --memory\
         {HINT}select from the table arguments, or use more memory"
    ))
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Archive(one), Self::Archive(other)) => Arc::ptr_eq(one, other),
            (Self::Store(one), Self::Store(other)) => Arc::ptr_eq(one, other),
            (Self::Named(one), Self::Named(other)) => one.place == other.place,
            _ => false,
        }
    }
}

impl Eq for Subject {}

impl Hash for Subject {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Archive(archive) => Arc::as_ptr(archive).hash(state),
            Self::Store(snapshot) => Arc::as_ptr(snapshot).hash(state),
            Self::Named(store) => store.place.hash(state),
        }
    }
}
