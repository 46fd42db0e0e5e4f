//! Conditions of triggers that hold.

use super::state::EventLoop;
use crate::collection::Collection;
use crate::machine::{ProviderId, SessionNumber};
use crate::recording::Recording;
use crate::trigger::Condition;

impl EventLoop {
    /// Performs the actions of the conditions that began to hold.
    pub(super) fn react_to_conditions(&mut self) {
        for session in self.active.keys().copied().collect::<Vec<_>>() {
            self.react_to(session, Recording::held_conditions);
        }
    }

    /// Performs the actions of the conditions that the last records of an ended session meet.
    pub(super) fn react_to_last_conditions(&mut self, session: SessionNumber) {
        self.react_to(session, Recording::last_conditions);
    }

    pub(super) fn react_to(
        &mut self,
        session: SessionNumber,
        held: fn(&mut Recording, &mut Collection) -> Vec<String>,
    ) {
        let now = self.now();
        let (Some(active), Some(collection)) =
            (self.active.get_mut(&session), &mut self.collection)
        else {
            return;
        };
        for cause in held(&mut active.recording, collection) {
            let Some(active) = self.active.get_mut(&session) else { return };
            for reaction in active.alerts.triggers.condition(&cause, now) {
                self.react(session, reaction);
            }
        }
    }

    /// Notes that a provider compares a condition from its next records on.
    pub(super) fn watch(&mut self, id: ProviderId, number: u32) {
        let sessions = self.triggered_by(id);
        if sessions.is_empty() {
            return;
        }
        self.pass_provider_on(id);
        let Some(collection) = &self.collection else { return };
        let Some(provider) = collection.provider(id).map(|it| it.identity().id) else { return };
        for session in sessions {
            if let Some(active) = self.active.get_mut(&session) {
                active.recording.watch(number, provider);
            }
        }
    }

    /// Performs the actions of a condition that a provider compares, and that held.
    pub(super) fn hold_watched(&mut self, id: ProviderId, number: u32, times: u64) {
        for session in self.triggered_by(id) {
            let active = self.active.get_mut(&session);
            if active.is_some_and(|active| active.recording.hold_watched(number, times)) {
                // At once: the snapshot must have the records of this moment.
                self.react_to(session, Recording::held_conditions);
            }
        }
        self.copy_for_snapshots(id);
    }

    /// Returns the sessions that have a provider and whose conditions it may meet.
    pub(super) fn triggered_by(&self, id: ProviderId) -> Vec<SessionNumber> {
        let (Some(collection), Some(connection)) = (&self.collection, self.connections.get(&id))
        else {
            return Vec::new();
        };
        let may_trigger = |session: &SessionNumber| {
            let active = self.active.get(session);
            active.is_some_and(|it| it.recording.config().may_trigger(connection.peer.uid))
        };
        collection.sessions(id).into_iter().filter(may_trigger).collect()
    }

    /// Notes that a condition of a session holds, which the caller has evaluated.
    pub(super) fn hold(&mut self, session: SessionNumber, condition: &Condition) {
        if let Some(active) = self.active.get_mut(&session) {
            active.recording.hold(condition);
        }
    }
}
