//! The effects of alerts.

use std::path::PathBuf;

use crossbeam_channel::Sender;

use super::state::EventLoop;
use crate::error::ManagerError;
use crate::machine::{Input, ProviderId, Reaction, SessionNumber, SessionState};
use crate::notice::Notice;
use crate::snapshot::Requester;

impl EventLoop {
    /// Handles an alert of a provider.
    pub(super) fn handle_alert(&mut self, id: ProviderId, name: &str) {
        let Some(peer) = self.connections.get(&id).map(|connection| connection.peer) else {
            return;
        };
        let now = self.now();
        let sessions = self.collection.as_ref().map_or(Vec::new(), |it| it.sessions(id));
        for session in sessions {
            let Some(active) = self.active.get_mut(&session) else { continue };
            let is_heeded = active.recording.config().may_trigger(peer.uid);
            let alert = Notice::Alert { name: name.to_owned(), pid: peer.pid, is_heeded };
            active.alerts.notices.send_of(is_heeded, alert);
            if !is_heeded {
                continue;
            }
            active.recording.alert(name);
            for reaction in active.alerts.triggers.alert(name, now) {
                self.react(session, reaction);
            }
        }
        // At once: the snapshot must have the records of this moment.
        self.copy_for_snapshots(id);
    }

    /// Takes the snapshots that are due: alerts waited for another one or for the interval, or the
    /// caller has requested it.
    pub(super) fn next_snapshots(&mut self) {
        let now = self.now();
        for session in self.active.keys().copied().collect::<Vec<_>>() {
            let Some(active) = self.active.get_mut(&session) else { continue };
            if active.recording.take_finished_snapshot() {
                active.alerts.triggers.written();
            }
            if let Some(reaction) = active.alerts.triggers.next(now) {
                self.react(session, reaction);
            }
        }
    }

    /// Handles the caller's request for a snapshot beside the archive.
    pub(super) fn request_snapshot(&mut self, session: SessionNumber) {
        if let Some(active) = self.active.get_mut(&session) {
            active.alerts.triggers.request();
        }
    }

    pub(super) fn react(&mut self, session: SessionNumber, reaction: Reaction) {
        match reaction {
            Reaction::Snapshot { causes } => {
                self.pass_all_on();
                if let (Some(active), Some(collection)) =
                    (self.active.get_mut(&session), &self.collection)
                {
                    active.take_snapshot(collection, causes);
                }
            }
            Reaction::Stop { cause } => {
                let Some(active) = self.active.get_mut(&session) else { return };
                // The last records of a session that stops may have the condition.
                if active.recording.stopped_by.is_none() {
                    active.recording.stopped_by = Some(cause.clone());
                    active.alerts.notices.send(Notice::Stopping { cause });
                }
                // A session that stops, or has stopped, may start again.
                if active.state < SessionState::Terminating {
                    self.dispatch(Input::Terminate(session));
                }
            }
        }
    }

    /// Copies the buffer of a provider for the snapshots that have not copied it. Called before
    /// anything changes that a snapshot has of the provider.
    pub(super) fn copy_for_snapshots(&mut self, id: ProviderId) {
        let Some(collection) = &self.collection else { return };
        for active in self.active.values_mut() {
            active.recording.copy_for_snapshots(collection, id);
        }
    }

    /// Returns the next provider whose buffer is to be copied for snapshots.
    pub(super) fn next_uncopied(&self) -> Option<ProviderId> {
        self.active.values().find_map(|active| active.recording.next_uncopied())
    }

    /// Copies the buffer of one provider for snapshots: the others do not wait for all copies.
    pub(super) fn copy_next_for_snapshots(&mut self) {
        self.next_uncopied().into_iter().for_each(|id| self.copy_for_snapshots(id));
    }

    /// Copies the buffers of the providers of a session for its snapshots, and for those of others.
    pub(super) fn copy_all_for_snapshots(&mut self, session: SessionNumber) {
        let ids = self.collection.as_ref().map(|it| it.ids_of(session).collect::<Vec<_>>());
        ids.into_iter().flatten().for_each(|id| self.copy_for_snapshots(id));
    }

    /// Takes a snapshot for the caller.
    pub(super) fn caller_snapshot(
        &mut self,
        session: SessionNumber,
        path: PathBuf,
        reply: Sender<Result<u64, ManagerError>>,
    ) {
        self.pass_all_on();
        match (self.active.get_mut(&session), &self.collection) {
            (Some(active), Some(collection)) => {
                active.recording.snapshot(collection, path, Requester::Caller(reply));
            }
            // Fails if the caller no longer waits.
            _ => drop(reply.send(Err(ManagerError::SessionEnded))),
        }
    }
}
