//! Passing the collected records on to the sessions.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use trace_protocol::archive::ClockSample;
use trace_protocol::packet::Packet;

use super::state::EventLoop;
use crate::collection::{Collected, Collection, Departure, FinalRecords};
use crate::machine::{
    End, Leaving, ProviderId, Replies, SaveRequest, SessionNumber, Tracee, TraceeEvent,
};
use crate::recording::{LastRecords, LateOpening, Opened};
use crate::records::Records;

impl EventLoop {
    /// Copies a rolling buffer, and replies to its provider.
    pub(super) fn save(&mut self, id: ProviderId, request: SaveRequest) {
        while self.collection.as_ref().is_some_and(|collection| collection.is_behind(id)) {
            self.pass_on_oldest(id);
        }
        // Sessions wait until the copies from before a change are checked, and a program may record
        // without a pause: it waits for a check for each copy, the oldest one first.
        if self.coordinator.tracee(id).is_some_and(Tracee::awaits_check) {
            self.pass_on_oldest(id);
        }
        self.copy_for_snapshots(id);
        self.copy(id, request);
        let SaveRequest { wrapped_count, durable_data_end } = request;
        let saved = Packet::BufferSaved { wrapped_count, durable_data_end };
        let sent = self.connections.get(&id).map(|connection| connection.send_packet(saved));
        if let Some(Err(violation)) = sent {
            self.disconnect(id, TraceeEvent::Violation(violation));
        }
    }

    fn copy(&mut self, id: ProviderId, request: SaveRequest) {
        let Some(collection) = &mut self.collection else { return };
        let Some(provider) = collection.provider(id) else { return };
        let (archive_id, layout) = (provider.id(), provider.layout());
        let mut slots = Vec::new();
        let sessions = collection.sessions(id);
        for session in &sessions {
            let Some(active) = self.active.get_mut(session) else { continue };
            let providers = active.recording.providers(collection);
            let slot = active.recording.allocate_slot(archive_id, &layout, providers);
            slots.extend(slot.map(|slot| (*session, slot)));
        }
        let shared: Vec<SessionNumber> = slots.iter().map(|(session, _)| *session).collect();
        collection.copy(id, request, slots);
        for session in sessions {
            if let Some(active) = self.active.get(&session) {
                let is_shared = shared.contains(&session);
                active.recording.copied(archive_id, request.wrapped_count, is_shared);
            }
        }
    }

    /// Checks a part of the oldest copy, if there is one. After the last part, passes its records
    /// on.
    fn pass_part_on(&mut self) {
        let collected = self.collection.as_mut().and_then(|it| it.sanitize_part());
        self.pass_on(collected);
    }

    /// Checks a part of the oldest copy, and then others for this time.
    pub(super) fn pass_parts_on(&mut self, time: Duration) {
        let begin = Instant::now();
        self.pass_part_on();
        while self.collection.as_ref().is_some_and(Collection::has_waiting)
            && begin.elapsed() < time
        {
            self.pass_part_on();
        }
    }

    fn pass_one_on(&mut self) {
        let collected = self.collection.as_mut().and_then(|it| it.sanitize_one());
        self.pass_on(collected);
    }

    fn pass_on_oldest(&mut self, id: ProviderId) -> bool {
        let collected = self.collection.as_mut().and_then(|it| it.sanitize(id));
        let is_found = collected.is_some();
        self.pass_on(collected);
        is_found
    }

    /// Checks all copies, and passes their records on.
    pub(super) fn pass_all_on(&mut self) {
        while self.collection.as_ref().is_some_and(|collection| collection.has_waiting()) {
            self.pass_one_on();
        }
    }

    /// Checks the copies of a provider, and passes their records on.
    pub(super) fn pass_provider_on(&mut self, id: ProviderId) {
        while self.pass_on_oldest(id) {}
    }

    /// Checks the copies of the providers of a session, and passes their records on.
    pub(super) fn pass_session_on(&mut self, session: SessionNumber) {
        let ids = self.collection.as_ref().map(|it| it.ids_of(session).collect::<Vec<_>>());
        ids.into_iter().flatten().for_each(|id| self.pass_provider_on(id));
    }

    fn pass_on(&mut self, collected: Option<Collected>) {
        let (Some(Collected { provider, records, slots, counts_overwritten }), Some(collection)) =
            (collected, &self.collection)
        else {
            return;
        };
        for session in collection.sessions(provider) {
            let own = slots.iter().filter(|(owner, _)| *owner == session);
            let slots = own.map(|(_, slot)| slot.clone()).collect();
            let Some(active) = self.active.get_mut(&session) else { continue };
            let before = collection.provider(provider).filter(|_| counts_overwritten);
            if let Some((dropped, overwritten)) = before.and_then(|it| it.losses_before(session)) {
                active.recording.correct_reports(records.provider, dropped, overwritten);
            }
            active.recording.take(Records { slots, ..records.clone() });
        }
    }

    /// Adds a session to a provider that records.
    pub(super) fn join(&mut self, id: ProviderId, session: SessionNumber) {
        self.copy_for_snapshots(id);
        // Copies from before are of the other sessions: this one counts none of them, and its guard
        // has none.
        self.pass_provider_on(id);
        let recorded = self.coordinator.config_of(id).categories;
        let provider = self.collection.as_ref().and_then(|collection| collection.provider(id));
        let Some(base) = provider.map(|provider| provider.base()) else { return };
        let now = ClockSample::now();
        let (Some(collection), Some(active), Some(connection)) =
            (&mut self.collection, self.active.get_mut(&session), self.connections.get_mut(&id))
        else {
            return;
        };
        let (Some(provider), Some(packets)) = (collection.provider_mut(id), &connection.packets)
        else {
            return;
        };
        let joined_at = now.ticks(provider.identity().clock);
        let durable = provider.durable_records();
        let (last_saved, unreported) = (provider.last_saved(), provider.unreported(&base));
        let opened = Opened {
            id,
            is_helper: connection.is_helper,
            joined: provider.joined(joined_at, Some(&base), packets.as_fd()),
            now,
            recorded: &recorded,
            late: Some(LateOpening { durable: &durable, last_saved, unreported }),
        };
        let (buffers, mode) = (&self.admission.buffers, provider.layout().mode());
        let name = &provider.identity().name;
        let memory = match connection.shares.remove(&session) {
            Some(memory) => Ok(Some(memory)),
            None => active.recording.reserve(id, mode, buffers, connection.peer, name),
        };
        let is_reserved = memory.is_ok();
        if let Ok(memory) = memory {
            active.recording.join(&opened, memory);
        }
        for other in provider.sessions() {
            if let Some(other) = self.active.get_mut(&other) {
                other.recording.widen(provider, &recorded, &durable);
            }
        }
        let elapsed = self.active.get(&session).map_or(Duration::ZERO, |it| it.recording.elapsed());
        if is_reserved {
            provider.open_late(session, base, joined_at, elapsed);
        }
    }

    /// Removes a session from a provider whose buffer others have, too.
    pub(super) fn leave(&mut self, id: ProviderId, session: SessionNumber, leaving: Leaving) {
        let Leaving { end, has_rest } = leaving;
        self.copy_for_snapshots(id);
        self.pass_provider_on(id);
        let replies = self.coordinator.tracee(id).map(Tracee::replies).unwrap_or_default();
        // It gets no Stop, but the categories of the others.
        let replies = Replies { stop: end == End::Terminated, ..replies };
        let departure = self.departure_with(replies, end);
        let (Some(collection), Some(active)) =
            (&mut self.collection, self.active.get_mut(&session))
        else {
            return;
        };
        let spares = collection.spares().clone();
        let Some(provider) = collection.provider_mut(id) else { return };
        let (archive_id, clock) = (provider.id(), provider.identity().clock);
        let now = ClockSample::now().ticks(clock);
        let mut words = Records::begin(&spares, archive_id);
        let rest = has_rest.then_some(&mut words);
        if let Some((last, reported)) = provider.leave(session, &departure, rest) {
            let slots = Vec::new();
            let last = LastRecords { id: archive_id, words, slots, reported, last };
            // Its last records may be later, if it had not replied.
            active.recording.left(id, archive_id, now);
            active.recording.take_last(id, last);
        }
        self.publish_progress(Duration::ZERO);
    }

    /// Returns how a provider leaves its buffer. It may have the next one already.
    pub(super) fn departure(&self, id: ProviderId, end: End) -> Departure {
        let tracee = self.coordinator.tracee(id);
        self.departure_with(tracee.map(Tracee::last_replies).unwrap_or_default(), end)
    }

    fn departure_with(&self, replies: Replies, end: End) -> Departure {
        let elapsed = self.active.iter().map(|(number, it)| (*number, it.recording.elapsed()));
        Departure {
            end,
            answered_start: replies.start,
            answered_stop: replies.stop,
            elapsed: elapsed.collect(),
        }
    }

    /// Starts to collect the last records of a provider.
    pub(super) fn collect_last(&mut self, id: ProviderId, departure: Departure) {
        self.copy_for_snapshots(id);
        let Some(collection) = &mut self.collection else { return };
        let Some(provider) = collection.provider(id) else { return };
        let (archive_id, clock, now) =
            (provider.id(), provider.identity().clock, ClockSample::now());
        // A silent one may record until its buffer is read.
        let is_silent = departure.end == End::TimedOut && !departure.answered_stop;
        for session in provider.sessions() {
            if let Some(active) = self.active.get_mut(&session) {
                let until = match is_silent {
                    true => {
                        let now = now.ticks(clock);
                        provider.stopped_at(session, now).unwrap_or(now)
                    }
                    false => active.recording.recorded_until(archive_id, clock, &now),
                };
                active.recording.expect_last(id, archive_id, until);
            }
        }
        collection.finish(id, departure);
    }

    /// Passes the last records of departed providers on.
    pub(super) fn take_final(&mut self) {
        while let Some(last) = self.collection.as_mut().and_then(|it| it.take_final()) {
            self.pass_last_on(last);
        }
    }

    fn pass_last_on(&mut self, last: FinalRecords) {
        let FinalRecords { provider, id, mut words, slots, reported, mut sessions } = last;
        while let Some((session, last)) = sessions.pop() {
            // The last session gets the words without a copy.
            let words =
                if sessions.is_empty() { std::mem::take(&mut words) } else { words.clone() };
            let own = slots.iter().filter(|(owner, _)| *owner == session);
            let slots = own.map(|(_, slot)| slot.clone()).collect();
            if let Some(active) = self.active.get_mut(&session) {
                let last = LastRecords { id, words, slots, reported, last };
                active.recording.take_outstanding(provider, last);
            }
        }
    }
}
