//! Circular buffers that begin to stream, because another session joins.

use std::time::Instant;

use trace_protocol::mode::BufferingMode;

use super::provision::BUFFER_TIMEOUT;
use super::shares::PendingStream;
use super::state::EventLoop;
use crate::buffers::NoMemory;
use crate::machine::{ProviderId, SessionNumber, Tracee, TraceeEvent};

impl EventLoop {
    /// Reserves the memory for the records that the sessions of a provider retain when it streams,
    /// now or when memory is released.
    pub(super) fn prepare_stream(&mut self, id: ProviderId) {
        // It may have waited for sessions that have ended meanwhile.
        self.admission.streams.retain(|waiting| waiting.id != id);
        self.prepare_stream_until(id, Instant::now() + BUFFER_TIMEOUT);
    }

    fn prepare_stream_until(&mut self, id: ProviderId, deadline: Instant) {
        match self.take_stream_memory(id) {
            Err(no_memory) if no_memory.is_temporary && deadline > Instant::now() => {
                let freed = no_memory.freed;
                self.admission.streams.push_back(PendingStream { id, deadline, freed });
            }
            taken => {
                let has_memory = taken.is_ok();
                self.provider_event(id, TraceeEvent::StreamReserved { has_memory });
            }
        }
    }

    /// Reserves the memory of all sessions that there are by now, or none.
    fn take_stream_memory(&mut self, id: ProviderId) -> Result<(), NoMemory> {
        let sessions = self.coordinator.expected_sessions_of(id);
        let sizes = self.retained_sizes(&sessions, BufferingMode::Streaming);
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(()) };
        let bytes = sizes.iter().map(|(_, size)| *size).collect::<Vec<_>>();
        let shares = self.admission.buffers.take_all(connection.peer, &bytes)?;
        connection.shares = sizes.into_iter().map(|(session, _)| session).zip(shares).collect();
        Ok(())
    }

    /// Tries again for the providers that wait for memory, if any was released.
    pub(super) fn serve_streams(&mut self) {
        for _ in 0..self.admission.streams.len() {
            let Some(waiting) = self.admission.streams.pop_front() else { return };
            let tracee = self.coordinator.tracee(waiting.id);
            if !tracee.is_some_and(Tracee::awaits_stream_memory) {
                continue;
            }
            let was_freed = waiting.freed != self.admission.buffers.freed();
            if was_freed || waiting.deadline <= Instant::now() {
                self.prepare_stream_until(waiting.id, waiting.deadline);
            } else {
                self.admission.streams.push_back(waiting);
            }
        }
    }

    /// Collects the rolling buffers of a provider from `first` on, which requests to save them.
    pub(super) fn stream(&mut self, id: ProviderId, first: u32, current: u32) {
        let (Some(collection), Some(connection)) =
            (&mut self.collection, self.connections.get_mut(&id))
        else {
            return;
        };
        let Some(provider) = collection.provider_mut(id) else { return };
        provider.stream_from(first, current);
        self.admission.changing.insert(id);
        let archive_id = provider.id();
        for session in provider.sessions() {
            if let Some(active) = self.active.get_mut(&session) {
                let memory = connection.shares.remove(&session);
                active.recording.stream(id, archive_id, first, memory);
            }
        }
        if first == current {
            self.begin_live(id);
        }
    }

    /// Notes that the next records of a provider are not from before it streamed. Conditions over
    /// scopes that had ended by then are reported as late.
    fn begin_live(&mut self, id: ProviderId) {
        let Some(collection) = &self.collection else { return };
        let Some(provider) = collection.provider(id) else { return };
        for session in provider.sessions() {
            if let Some(active) = self.active.get_mut(&session) {
                active.recording.begin_live(provider.id());
            }
        }
    }

    /// Reports the providers whose copies from before the change are checked: sessions can join
    /// them.
    pub(super) fn report_checked(&mut self) {
        let awaits = |id: &ProviderId| {
            let tracee = self.coordinator.tracee(*id);
            let provider = self.collection.as_ref().and_then(|collection| collection.provider(*id));
            tracee.is_some_and(Tracee::awaits_check)
                && provider.is_some_and(|it| it.has_checked_older())
        };
        let checked: Vec<_> = self.admission.changing.iter().copied().filter(awaits).collect();
        for id in checked {
            self.begin_live(id);
            self.provider_event(id, TraceeEvent::Checked);
        }
        let coordinator = &self.coordinator;
        self.admission
            .changing
            .retain(|id| coordinator.tracee(*id).is_some_and(Tracee::has_older_buffers));
    }

    /// Frees the memory that is reserved for a session that has ended, or is paused, before it
    /// joined.
    pub(super) fn free_shares(&mut self, session: SessionNumber) {
        for connection in self.connections.values_mut() {
            connection.shares.remove(&session);
        }
    }
}
