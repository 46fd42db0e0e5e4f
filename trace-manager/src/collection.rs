//! Collects the records of a session's providers, once for all sinks.
//!
//! A save has two steps. [`Collection::copy`] copies the rolling buffer; after it, the provider may
//! reuse the buffer. [`Collection::sanitize_one`] checks the oldest copy and returns its records;
//! the loop calls it when no provider waits.
//!
//! | module | subject |
//! |---|---|
//! | `provider` | one provider: its buffer, and copies that are not checked yet |
//! | `finisher` | the thread that reads the last records of providers |

mod finisher;
mod provider;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::Layout;

pub(crate) use finisher::Finisher;
pub(crate) use provider::{Departure, Extract, FinalRecords, ProviderData};

use crate::machine::{ProviderId, SaveRequest};
use crate::query::ProviderStatistics;
use crate::records::{Records, Spares};

/// The data of all providers.
#[derive(Debug)]
pub(crate) struct Collection {
    spares: Spares,
    finisher: Finisher,
    providers: BTreeMap<ProviderId, ProviderData>,
    /// The providers of the copies that are not checked yet, oldest first.
    waiting: VecDeque<ProviderId>,
    next_id: u32,
    /// Providers that have left and are completely collected.
    departed: usize,
    /// Their events and losses.
    departed_events: u64,
    departed_losses: u64,
}

impl Collection {
    /// Creates a collection without providers. Vectors for records come from `spares`.
    pub(crate) fn new(finisher: Finisher, spares: Spares) -> Self {
        Self {
            spares,
            finisher,
            providers: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_id: 1,
            departed: 0,
            departed_events: 0,
            departed_losses: 0,
        }
    }

    /// Returns the archive id for the next provider.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Adds a provider.
    pub(crate) fn join(&mut self, id: ProviderId, provider: ProviderData) {
        self.providers.insert(id, provider);
    }

    /// Returns a provider's archive id and its buffer's layout.
    pub(crate) fn provider(&self, id: ProviderId) -> Option<(u32, Layout)> {
        self.providers.get(&id).map(|provider| (provider.id(), provider.layout()))
    }

    /// Returns whether a provider has so many unchecked copies that one must be checked before the
    /// next copy.
    pub(crate) fn is_behind(&self, id: ProviderId) -> bool {
        // The copies may take as much memory as the buffer.
        self.providers
            .get(&id)
            .is_some_and(|provider| provider.waiting() >= provider.layout().rolling_buffers())
    }

    /// Copies a rolling buffer, to `slot` if there is one. After this, its provider may reuse it.
    pub(crate) fn copy(&mut self, id: ProviderId, request: SaveRequest, slot: Option<SaveSlot>) {
        if let Some(provider) = self.providers.get_mut(&id) {
            provider.copy(request, slot);
            self.waiting.push_back(id);
        }
    }

    /// Returns whether any copy is not checked yet.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Checks the oldest copy, if there is one.
    pub(crate) fn sanitize_one(&mut self) -> Option<Records> {
        let id = self.waiting.pop_front()?;
        self.sanitize(id)
    }

    /// Checks the oldest copy of one provider, if it has one.
    pub(crate) fn sanitize(&mut self, id: ProviderId) -> Option<Records> {
        self.providers.get_mut(&id)?.sanitize_one(&self.spares)
    }

    /// Starts to collect the last records of a provider. [`Collection::take_final`] returns them.
    pub(crate) fn finish(&mut self, id: ProviderId, departure: Departure) {
        if let Some(provider) = self.providers.remove(&id) {
            self.finisher.finish(provider, departure, self.spares.clone());
        }
    }

    /// Returns the last records of a provider that has left, if they are ready.
    pub(crate) fn take_final(&mut self) -> Option<FinalRecords> {
        let remains = self.finisher.take()?;
        self.departed += 1;
        self.departed_events += remains.summary.events;
        self.departed_losses = self.departed_losses.saturating_add(remains.summary.dropped);
        Some(remains)
    }

    /// Returns the number of providers that have left and are not completely collected.
    pub(crate) fn outstanding(&self) -> usize {
        self.finisher.outstanding()
    }

    /// Copies the uncollected contents of the providers' buffers, while the providers continue. All
    /// copies are checked before the call.
    pub(crate) fn extracts(&self) -> Vec<Extract> {
        self.providers.values().map(ProviderData::extract).collect()
    }

    /// Returns the size in bytes of the connected providers' buffers.
    pub(crate) fn buffer_sizes(&self) -> u64 {
        self.providers.values().map(|provider| provider.layout().total_size() as u64).sum()
    }

    /// Returns the number of providers now, and of all that have joined.
    pub(crate) fn providers(&self) -> (usize, usize) {
        (self.providers.len(), self.providers.len() + self.outstanding() + self.departed)
    }

    /// Returns the statistics of the connected providers, without bytes of an archive.
    pub(crate) fn statistics(&self) -> Vec<ProviderStatistics> {
        self.providers.values().map(ProviderData::statistics).collect()
    }

    /// Returns the number of events collected so far.
    pub(crate) fn events(&self) -> u64 {
        self.departed_events + self.providers.values().map(ProviderData::events).sum::<u64>()
    }

    /// Returns the number of records dropped so far.
    pub(crate) fn lost(&self) -> u64 {
        self.providers
            .values()
            .map(ProviderData::dropped)
            .fold(self.departed_losses, u64::saturating_add)
    }
}
