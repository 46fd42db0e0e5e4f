//! A store by its name, as a plan of another machine has it.

use std::sync::Arc;

use datafusion::error::Result;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::snapshot::Snapshot;
use super::Store;
use crate::archive::external;

/// The name of a store and the number of a change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StorePlace {
    /// Its path or URL.
    pub name: String,
    /// The last change that a query sees.
    pub change: u64,
}

/// A store after a change, which is read when its content is first needed.
#[derive(Debug)]
pub struct NamedStore {
    /// Which one.
    pub place: StorePlace,
    snapshot: OnceCell<Arc<Snapshot>>,
}

impl NamedStore {
    /// Names a store. Nothing is read.
    #[must_use]
    pub fn new(place: StorePlace) -> Self {
        Self { place, snapshot: OnceCell::new() }
    }

    /// Returns its content.
    pub(crate) async fn snapshot(&self) -> Result<&Arc<Snapshot>> {
        let read = || async {
            let store = Store::open(&self.place.name)?;
            Snapshot::at(store, self.place.change).await.map(Arc::new)
        };
        self.snapshot.get_or_try_init(read).await.map_err(external)
    }
}
