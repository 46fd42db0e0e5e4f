//! What comes from the providers of a session, once, whoever gets it.
//!
//! A save has two halves. [`Collection::copy`] copies the rolling buffer, after which the provider
//! may be told that it is saved. [`Collection::sanitize_one`] turns the oldest copy into records;
//! the loop calls it when no provider waits.
//!
//! | module | subject |
//! |---|---|
//! | `tape` | one provider: its buffer, and copies that were not looked at yet |
//! | `finisher` | the thread that reads what providers leave behind |

mod finisher;
mod tape;

use std::collections::{BTreeMap, VecDeque};

use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::Layout;

pub(crate) use finisher::Finisher;
pub(crate) use tape::{Departure, Extract, Remains, Tape};

use crate::machine::{ProviderId, SaveRequest};
use crate::records::{Records, Spares};

/// The providers' data.
#[derive(Debug)]
pub(crate) struct Collection {
    spares: Spares,
    finisher: Finisher,
    tapes: BTreeMap<ProviderId, Tape>,
    /// Whose copy is to be sanitized next, oldest first.
    waiting: VecDeque<ProviderId>,
    next_id: u32,
    /// Providers that have left and of which all is collected, and their events and losses.
    left: usize,
    events_left: u64,
    lost_left: u64,
}

impl Collection {
    /// Makes a collection without providers. Vectors for records come from `spares`.
    pub(crate) fn new(finisher: Finisher, spares: Spares) -> Self {
        Self {
            spares,
            finisher,
            tapes: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_id: 1,
            left: 0,
            events_left: 0,
            lost_left: 0,
        }
    }

    /// Returns the id in archives for the next provider.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Adds a provider.
    pub(crate) fn join(&mut self, id: ProviderId, tape: Tape) {
        self.tapes.insert(id, tape);
    }

    /// Returns a provider's id in archives and its buffer's layout.
    pub(crate) fn provider(&self, id: ProviderId) -> Option<(u32, Layout)> {
        self.tapes.get(&id).map(|tape| (tape.id(), tape.layout()))
    }

    /// Tells whether so many copies of a provider's buffers wait that one is to be sanitized before
    /// another one is made.
    pub(crate) fn is_behind(&self, id: ProviderId) -> bool {
        // As much memory as the buffer has.
        self.tapes.get(&id).is_some_and(|tape| tape.waiting() >= tape.layout().rolling_buffers())
    }

    /// Copies a rolling buffer, to `slot` if there is one. After this its provider may write it
    /// again.
    pub(crate) fn copy(&mut self, id: ProviderId, request: SaveRequest, slot: Option<SaveSlot>) {
        if let Some(tape) = self.tapes.get_mut(&id) {
            tape.copy(request, slot);
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
        self.tapes.get_mut(&id)?.sanitize_one(&self.spares)
    }

    /// Has all that is left of a provider collected; [`Collection::take_remains`] returns it.
    pub(crate) fn finish(&mut self, id: ProviderId, departure: Departure) {
        if let Some(tape) = self.tapes.remove(&id) {
            self.finisher.finish(tape, departure, self.spares.clone());
        }
    }

    /// Returns what was collected of a provider that left.
    pub(crate) fn take_remains(&mut self) -> Option<Remains> {
        let remains = self.finisher.take()?;
        self.left += 1;
        self.events_left += remains.summary.events;
        self.lost_left = self.lost_left.saturating_add(remains.summary.dropped);
        Some(remains)
    }

    /// Returns how many providers have left of which not all is collected.
    pub(crate) fn outstanding(&self) -> usize {
        self.finisher.outstanding()
    }

    /// Copies what the providers' buffers hold beyond the records that were returned, and goes on.
    /// No copy waits to be sanitized.
    pub(crate) fn extracts(&self) -> Vec<Extract> {
        self.tapes.values().map(Tape::extract).collect()
    }

    /// Returns the size in bytes of the buffers of the providers that are there.
    pub(crate) fn buffer_sizes(&self) -> u64 {
        self.tapes.values().map(|tape| tape.layout().total_size() as u64).sum()
    }

    /// Returns how many providers there are, and how many there were.
    pub(crate) fn providers(&self) -> (usize, usize) {
        (self.tapes.len(), self.tapes.len() + self.outstanding() + self.left)
    }

    /// Returns the number of events collected so far.
    pub(crate) fn events(&self) -> u64 {
        self.events_left + self.tapes.values().map(Tape::events).sum::<u64>()
    }

    /// Returns the number of records dropped so far.
    pub(crate) fn lost(&self) -> u64 {
        self.tapes.values().map(Tape::dropped).fold(self.lost_left, u64::saturating_add)
    }
}
