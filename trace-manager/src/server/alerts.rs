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
        let Some(active) = &mut self.active else { return };
        active.recording.alert(name);
        active.alerts.notices.send(Notice::Alert { name: name.to_owned(), pid });
        for reaction in active.alerts.triggers.alert(name) {
            self.react(reaction);
        }
    }

    /// Takes the snapshot of alerts that waited for another snapshot, if that is finished.
    pub(super) fn next_snapshot(&mut self) {
        while self.active.as_ref().is_some_and(|active| active.recording.take_finished_snapshot()) {
            let next = self.active.as_mut().and_then(|active| active.alerts.triggers.written());
            if let Some(reaction) = next {
                self.react(reaction);
            }
        }
    }

    fn react(&mut self, reaction: Reaction) {
        let Some(active) = &mut self.active else { return };
        match reaction {
            Reaction::Snapshot { number, alerts } => active.take_snapshot(number, alerts),
            Reaction::LimitReached { alert } => {
                active.alerts.notices.send(Notice::NoMoreSnapshots { alert });
            }
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
