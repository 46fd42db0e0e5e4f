//! Collects the records of the providers, once for all sessions.
//!
//! A save has two steps. [`Collection::copy`] copies the rolling buffer; after it, the provider may
//! reuse the buffer. [`Collection::sanitize_part`] checks a part of the oldest copy, and returns
//! its records after the last part. The loop calls it when no provider waits, and passes the
//! records to the provider's sessions.
//!
//! | module | subject |
//! |---|---|
//! | `provider` | one provider: its buffer, and its copies that are not checked yet |
//! | `copy` | copies of rolling buffers, which are checked in parts |
//! | `completeness` | the time before which all its records are passed on |
//! | `finisher` | the thread that reads the last records of providers |

mod completeness;
mod copy;
mod finisher;
mod provider;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

pub(crate) use copy::SessionSlots;
pub(crate) use finisher::Finisher;
pub(crate) use provider::{
    Collected, Departure, Extract, FinalRecords, LastOfSession, ProviderData, UncountedBuffer,
};

use crate::machine::{ProviderId, SaveRequest, SessionNumber};
use crate::records::Spares;

/// The words of a copy that are checked at a time, or the rest of a chunk: some 30 µs. A provider
/// that waits for its reply comes before the next ones.
const PART_WORDS: usize = 4 << 10;

/// The data of all providers.
#[derive(Debug)]
pub(crate) struct Collection {
    spares: Spares,
    finisher: Finisher,
    providers: BTreeMap<ProviderId, ProviderData>,
    /// The providers of the copies that are not checked yet, oldest first.
    waiting: VecDeque<ProviderId>,
    next_id: u32,
}

impl Collection {
    /// Creates a collection without providers. Vectors for records come from `spares`.
    pub(crate) fn new(finisher: Finisher, spares: Spares) -> Self {
        let (providers, waiting) = (BTreeMap::new(), VecDeque::new());
        Self { spares, finisher, providers, waiting, next_id: 1 }
    }

    /// Returns the archive id for the next provider.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Returns the spare vectors for records.
    pub(crate) fn spares(&self) -> &Spares {
        &self.spares
    }

    /// Adds a provider.
    pub(crate) fn join(&mut self, id: ProviderId, provider: ProviderData) {
        self.providers.insert(id, provider);
    }

    /// Returns a provider.
    pub(crate) fn provider(&self, id: ProviderId) -> Option<&ProviderData> {
        self.providers.get(&id)
    }

    /// Returns a provider.
    pub(crate) fn provider_mut(&mut self, id: ProviderId) -> Option<&mut ProviderData> {
        self.providers.get_mut(&id)
    }

    /// Returns the sessions that have a provider.
    pub(crate) fn sessions(&self, id: ProviderId) -> Vec<SessionNumber> {
        self.providers.get(&id).map_or(Vec::new(), |provider| provider.sessions().collect())
    }

    /// Returns whether a session has this provider.
    pub(crate) fn has(&self, id: ProviderId, session: SessionNumber) -> bool {
        self.providers.get(&id).is_some_and(|it| it.sessions().any(|number| number == session))
    }

    /// Returns the numbers of the providers of a session.
    pub(crate) fn ids_of(&self, session: SessionNumber) -> impl Iterator<Item = ProviderId> + '_ {
        self.providers.keys().copied().filter(move |id| self.has(*id, session))
    }

    /// Returns the providers of a session.
    pub(crate) fn of_session(&self, session: SessionNumber) -> impl Iterator<Item = &ProviderData> {
        self.providers.values().filter(move |provider| provider.sessions().any(|it| it == session))
    }

    /// Returns the providers of a session.
    pub(crate) fn of_session_mut(
        &mut self,
        session: SessionNumber,
    ) -> impl Iterator<Item = &mut ProviderData> {
        self.providers
            .values_mut()
            .filter(move |provider| provider.sessions().any(|it| it == session))
    }

    /// Returns whether a provider has so many unchecked copies that one must be checked before the
    /// next copy.
    pub(crate) fn is_behind(&self, id: ProviderId) -> bool {
        // The copies may take as much memory as the buffer.
        self.providers
            .get(&id)
            .is_some_and(|provider| provider.waiting() >= provider.layout().rolling_buffers())
    }

    /// Copies a rolling buffer, to each of `slots` if there are any. After this, its provider may
    /// reuse it.
    pub(crate) fn copy(&mut self, id: ProviderId, request: SaveRequest, slots: SessionSlots) {
        if let Some(provider) = self.providers.get_mut(&id) {
            provider.copy(request, slots);
            self.waiting.push_back(id);
        }
    }

    /// Returns whether any copy is not checked yet.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Checks a part of the oldest copy, if there is one. Returns its records if that was the last
    /// part.
    pub(crate) fn sanitize_part(&mut self) -> Option<Collected> {
        let id = *self.waiting.front()?;
        let provider = self.providers.get_mut(&id);
        let collected = provider.and_then(|it| it.sanitize_part(id, PART_WORDS, &self.spares));
        if !self.has_begun_check(id) {
            self.waiting.pop_front();
        }
        collected
    }

    /// Returns whether a part of a provider's oldest copy is checked.
    fn has_begun_check(&self, id: ProviderId) -> bool {
        self.providers.get(&id).is_some_and(ProviderData::has_begun_check)
    }

    /// Checks the oldest copy, if there is one.
    pub(crate) fn sanitize_one(&mut self) -> Option<Collected> {
        let id = self.waiting.pop_front()?;
        self.sanitize(id)
    }

    /// Checks the oldest copy of one provider, if it has one.
    pub(crate) fn sanitize(&mut self, id: ProviderId) -> Option<Collected> {
        self.providers.get_mut(&id)?.sanitize_part(id, usize::MAX, &self.spares)
    }

    /// Starts to collect the last records of a provider. [`Collection::take_final`] returns them.
    pub(crate) fn finish(&mut self, id: ProviderId, departure: Departure) {
        if let Some(provider) = self.providers.remove(&id) {
            self.finisher.finish(id, provider, departure, self.spares.clone());
        }
    }

    /// Returns the last records of a provider that has left, if they are ready.
    pub(crate) fn take_final(&mut self) -> Option<FinalRecords> {
        self.finisher.take()
    }

    /// Returns the number of providers that have left and are not completely collected.
    pub(crate) fn outstanding(&self) -> usize {
        self.finisher.outstanding()
    }

    /// Copies the uncollected contents of the buffer of a provider, while it continues, if the
    /// session has it. All copies of the provider are checked before the call.
    pub(crate) fn extract(&self, id: ProviderId, session: SessionNumber) -> Option<Extract> {
        self.providers.get(&id)?.extract(session)
    }

    /// Returns the buffers of a session's providers for a count on another thread.
    pub(crate) fn uncounted(&self, session: SessionNumber) -> Vec<UncountedBuffer> {
        self.of_session(session).map(ProviderData::uncounted).collect()
    }

    /// Returns the size in bytes of the buffer of a provider, if it has one.
    pub(crate) fn buffer_size(&self, id: ProviderId) -> u64 {
        self.provider(id).map_or(0, |provider| provider.layout().total_size() as u64)
    }

    /// Returns the size in bytes of the buffers of a session's providers.
    pub(crate) fn buffer_sizes(&self, session: SessionNumber) -> u64 {
        self.of_session(session).map(|provider| provider.layout().total_size() as u64).sum()
    }
}
