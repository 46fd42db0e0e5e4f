//! The progress of a session.

use std::sync::Arc;
use std::time::Duration;

use super::Recording;
use crate::archive::WriterStatus;
use crate::collection::{Collection, ProviderData};
use crate::query::ProviderStatistics;

impl Recording {
    /// Returns the time since the start of the session.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the number of providers now.
    pub(crate) fn providers(&self, collection: &Collection) -> usize {
        collection.of_session(self.number).count()
    }

    /// Returns the number of programs that have joined, without helpers of sessions.
    pub(crate) fn programs(&self) -> usize {
        self.joined.len()
    }

    /// Returns the number of events collected so far.
    pub(crate) fn events(&self, collection: &Collection) -> u64 {
        let connected = collection.of_session(self.number).map(|it| self.events_of(it));
        connected.fold(self.departed.events, u64::saturating_add)
    }

    fn events_of(&self, provider: &ProviderData) -> u64 {
        self.selection.events(provider.id()).unwrap_or_else(|| provider.events())
    }

    /// Returns the number of records dropped so far.
    pub(crate) fn lost(&self, collection: &Collection) -> u64 {
        let connected = collection.of_session(self.number).map(|it| it.dropped(self.number));
        connected.fold(self.departed.dropped, u64::saturating_add)
    }

    /// Returns the statistics of the connected providers.
    pub(crate) fn statistics(&self, collection: &Collection) -> Vec<ProviderStatistics> {
        let statistics = |provider: &ProviderData| ProviderStatistics {
            events: self.events_of(provider),
            bytes: self.outputs.archive.bytes(provider.id()),
            ..provider.statistics()
        };
        collection.of_session(self.number).map(statistics).collect()
    }

    /// Returns the state of the archive's writer.
    pub(crate) fn writer_status(&self) -> Arc<WriterStatus> {
        self.outputs.archive.status()
    }
}
