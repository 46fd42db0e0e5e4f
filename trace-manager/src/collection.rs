//! What comes from the providers of a session, once, whoever gets it.
//!
//! A save has two halves. [`Collection::copy`] copies the rolling buffer, after which the provider
//! may be told that it is saved. [`Collection::sanitize_one`] turns the oldest copy into records;
//! the loop calls it when no provider waits.
//!
//! | module | subject |
//! |---|---|
//! | `provider` | one provider: its buffer, and copies that were not looked at yet |
//! | `finisher` | the thread that reads what providers leave behind |

mod finisher;
mod provider;

use std::collections::{BTreeMap, VecDeque};

use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::Layout;

pub(crate) use finisher::Finisher;
pub(crate) use provider::{Departure, Extract, FinalRecords, ProviderData};

use crate::machine::{ProviderId, SaveRequest};
use crate::records::{Records, Spares};

/// The providers' data.
#[derive(Debug)]
pub(crate) struct Collection {
    spares: Spares,
    finisher: Finisher,
    providers: BTreeMap<ProviderId, ProviderData>,
    /// Whose copy is to be sanitized next, oldest first.
    waiting: VecDeque<ProviderId>,
    next_id: u32,
    /// Providers that have left and of which all is collected, and their events and losses.
    departed: usize,
    departed_events: u64,
    departed_losses: u64,
}

impl Collection {
    /// Makes a collection without providers. Vectors for records come from `spares`.
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

    /// Returns the id in archives for the next provider.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Adds a provider.
    pub(crate) fn join(&mut self, id: ProviderId, provider: ProviderData) {
        self.providers.insert(id, provider);
    }

    /// Returns a provider's id in archives and its buffer's layout.
    pub(crate) fn provider(&self, id: ProviderId) -> Option<(u32, Layout)> {
        self.providers.get(&id).map(|provider| (provider.id(), provider.layout()))
    }

    /// Tells whether so many copies of a provider's buffers wait that one is to be sanitized before
    /// another one is made.
    pub(crate) fn is_behind(&self, id: ProviderId) -> bool {
        // As much memory as the buffer has.
        self.providers
            .get(&id)
            .is_some_and(|provider| provider.waiting() >= provider.layout().rolling_buffers())
    }

    /// Copies a rolling buffer, to `slot` if there is one. After this its provider may write it
    /// again.
    pub(crate) fn copy(&mut self, id: ProviderId, request: SaveRequest, slot: Option<SaveSlot>) {
        if let Some(provider) = self.providers.get_mut(&id) {
            provider.copy(request, slot);
            self.waiting.push_back(id);
        }
    }

    /// Tells whether a copy waits to be sanitized.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sanitizes the oldest copy, if there is one.
    pub(crate) fn sanitize_one(&mut self) -> Option<Records> {
        let id = self.waiting.pop_front()?;
        self.sanitize(id)
    }

    /// Sanitizes the oldest copy of one provider, if it has one.
    pub(crate) fn sanitize(&mut self, id: ProviderId) -> Option<Records> {
        self.providers.get_mut(&id)?.sanitize_one(&self.spares)
    }

    /// Has all that is left of a provider collected; [`Collection::take_final`] returns it.
    pub(crate) fn finish(&mut self, id: ProviderId, departure: Departure) {
        if let Some(provider) = self.providers.remove(&id) {
            self.finisher.finish(provider, departure, self.spares.clone());
        }
    }

    /// Returns what was collected of a provider that left.
    pub(crate) fn take_final(&mut self) -> Option<FinalRecords> {
        let remains = self.finisher.take()?;
        self.departed += 1;
        self.departed_events += remains.summary.events;
        self.departed_losses = self.departed_losses.saturating_add(remains.summary.dropped);
        Some(remains)
    }

    /// Returns how many providers have left of which not all is collected.
    pub(crate) fn outstanding(&self) -> usize {
        self.finisher.outstanding()
    }

    /// Copies what the providers' buffers hold beyond the records that were returned, and goes on.
    /// No copy waits to be sanitized.
    pub(crate) fn extracts(&self) -> Vec<Extract> {
        self.providers.values().map(ProviderData::extract).collect()
    }

    /// Returns the size in bytes of the buffers of the providers that are there.
    pub(crate) fn buffer_sizes(&self) -> u64 {
        self.providers.values().map(|provider| provider.layout().total_size() as u64).sum()
    }

    /// Returns how many providers there are, and how many there were.
    pub(crate) fn providers(&self) -> (usize, usize) {
        (self.providers.len(), self.providers.len() + self.outstanding() + self.departed)
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
