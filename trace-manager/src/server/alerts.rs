//! The effects of alerts.

use std::path::PathBuf;

use crossbeam_channel::Sender;

use super::state::EventLoop;
use crate::error::ManagerError;
use crate::machine::{Input, ProviderId, Reaction, SessionState};
use crate::notice::Notice;
use crate::snapshot::Requester;

impl EventLoop {
    /// Handles an alert of a provider.
    pub(super) fn handle_alert(&mut self, id: ProviderId, name: &str) {
        let pid = self.connections.get(&id).map_or(0, |connection| connection.peer.pid);
        let now = self.now();
        let Some(active) = &mut self.active else { return };
        active.recording.alert(name);
        active.alerts.notices.send(Notice::Alert { name: name.to_owned(), pid });
        for reaction in active.alerts.triggers.alert(name, now) {
            self.react(reaction);
        }
    }

    /// Takes the snapshot that is due: alerts waited for another one or for the interval, or the
    /// caller has requested it.
    pub(super) fn next_snapshot(&mut self) {
        let now = self.now();
        let Some(active) = &mut self.active else { return };
        if active.recording.take_finished_snapshot() {
            active.alerts.triggers.written();
        }
        if let Some(reaction) = active.alerts.triggers.next(now) {
            self.react(reaction);
        }
    }

    /// Handles the caller's request for a snapshot beside the archive.
    pub(super) fn request_snapshot(&mut self, session: u64) {
        if let Some(active) = self.active.as_mut().filter(|active| active.number == session) {
            active.alerts.triggers.request();
        }
    }

    fn react(&mut self, reaction: Reaction) {
        let Some(active) = &mut self.active else { return };
        match reaction {
            Reaction::Snapshot { alerts } => active.take_snapshot(alerts),
            Reaction::Stop { alert } => {
                if active.state < SessionState::Stopping {
                    active.recording.stopped_by = Some(alert.clone());
                    active.alerts.notices.send(Notice::Stopping { alert });
                    self.dispatch(Input::Terminate);
                }
            }
        }
    }

    /// Takes a snapshot for the caller.
    pub(super) fn caller_snapshot(
        &mut self,
        session: u64,
        path: PathBuf,
        reply: Sender<Result<u64, ManagerError>>,
    ) {
        let active = self.active.as_mut().filter(|active| active.number == session);
        match active {
            Some(active) => active.recording.snapshot(path, Requester::Caller(reply)),
            // Fails if the caller no longer waits.
            None => drop(reply.send(Err(ManagerError::SessionEnded))),
        }
    }
}
