//! The progress of a session.

use std::sync::Arc;
use std::time::Duration;

use super::Recording;
use crate::archive::WriterStatus;
use crate::collection::{Collection, ProviderData};
use crate::query::ProviderStatistics;
use crate::summary::ProviderSummary;

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
        self.joined.programs()
    }

    /// Returns the number of events so far, without those that the session does not keep.
    pub(crate) fn events(&self, collection: &Collection) -> u64 {
        let connected = collection.of_session(self.number).map(|it| self.events_of(it));
        connected.fold(self.departed.events, u64::saturating_add)
    }

    fn events_of(&self, provider: &ProviderData) -> u64 {
        let events = self.selection.events(provider.id()).unwrap_or_else(|| provider.events());
        events.saturating_sub(self.retention.limited(provider.id()).events)
    }

    fn lost_of(&self, provider: &ProviderData) -> u64 {
        let dropped = provider.dropped(self.number);
        dropped.saturating_add(self.retention.limited(provider.id()).dropped())
    }

    /// Returns the number of records dropped so far.
    pub(crate) fn lost(&self, collection: &Collection) -> u64 {
        let connected = collection.of_session(self.number).map(|it| self.lost_of(it));
        connected.fold(self.departed.dropped, u64::saturating_add)
    }

    /// Returns the statistics of the connected providers, and of those that have left last.
    pub(crate) fn statistics(&self, collection: &Collection) -> Vec<ProviderStatistics> {
        let statistics = |provider: &ProviderData| {
            let mut statistics = provider.statistics(self.number);
            self.retention.limited(provider.id()).add_dropped(&mut statistics.dropped);
            let bytes = self.outputs.archive.bytes(provider.id());
            ProviderStatistics { events: self.events_of(provider), bytes, ..statistics }
        };
        let departed = self.departed.newest().filter(|(id, _)| !collection.has(*id, self.number));
        let departed = departed.map(|(_, summary)| of_departed(summary));
        let mut all: Vec<_> =
            departed.chain(collection.of_session(self.number).map(statistics)).collect();
        all.sort_by_key(|it| it.id);
        all
    }

    /// Returns the state of the archive's writer.
    pub(crate) fn writer_status(&self) -> Arc<WriterStatus> {
        self.outputs.archive.status()
    }
}

fn of_departed(summary: &ProviderSummary) -> ProviderStatistics {
    ProviderStatistics {
        id: summary.id,
        pid: summary.pid,
        name: summary.name.clone(),
        wrapped_count: summary.wrapped_count,
        dropped: summary.dropped_by_reason.clone(),
        durable_used: summary.durable_used,
        durable_size: summary.durable_size,
        buffer_size: summary.buffer_size,
        events: summary.events,
        bytes: summary.bytes,
        answered_start: summary.answered_start,
        end: Some(summary.end.clone()),
    }
}
