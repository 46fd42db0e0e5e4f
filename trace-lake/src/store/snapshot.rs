//! A store as the queries of a session see it.

use std::sync::Arc;

use anyhow::Result;

use super::log::{self, Numbered};
use super::reader::{Opened, Readers};
use super::state::State;
use super::Store;

/// A store with its state at one time. Later changes do not affect it: its files stay for a while
/// after their removal.
#[derive(Debug)]
pub struct Snapshot {
    /// The store.
    pub store: Store,
    /// The number of its last change.
    pub number: u64,
    /// Its state.
    pub state: State,
    /// The files that queries have opened.
    opened: Arc<Opened>,
}

impl Snapshot {
    /// Reads the newest state of a store.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or the place is not a store.
    pub async fn newest(store: Store) -> Result<Self> {
        let newest = log::existing(&store).await?;
        Ok(Self::new(store, newest))
    }

    /// Reads the state of a store after a change.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or the change has been deleted.
    pub(crate) async fn at(store: Store, number: u64) -> Result<Self> {
        let numbered = log::at(&store, number).await?;
        Ok(Self::new(store, numbered))
    }

    pub(crate) fn new(store: Store, Numbered { number, state }: Numbered) -> Self {
        Self { store, number, state, opened: Arc::default() }
    }

    /// Returns what opens its files.
    pub(crate) fn readers(&self) -> Readers {
        Readers::new(self.store.clone(), self.opened.clone())
    }
}
