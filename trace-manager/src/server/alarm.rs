//! Doing what alerts are to do.

use std::path::PathBuf;

use crossbeam_channel::Sender;

use super::state::EventLoop;
use crate::error::ManagerError;
use crate::machine::{Input, ProviderId, Reaction, SessionState};
use crate::notice::Notice;
use crate::snapshot::Origin;

impl EventLoop {
    /// Takes an alert of a provider.
    pub(super) fn alert(&mut self, id: ProviderId, name: &str) {
        let pid = self.connections.get(&id).map_or(0, |connection| connection.peer.pid);
        let Some(active) = &mut self.active else { return };
        active.recording.alert(name);
        active.alarm.notices.tell(Notice::Alert { name: name.to_owned(), pid });
        for reaction in active.alarm.triggers.alert(name) {
            self.react(reaction);
        }
    }

    /// Takes the snapshot that alerts have asked for while another one was written, if that is
    /// over.
    pub(super) fn next_snapshot(&mut self) {
        while self.active.as_ref().is_some_and(|active| active.recording.take_snapshot_over()) {
            let next = self.active.as_mut().and_then(|active| active.alarm.triggers.written());
            if let Some(reaction) = next {
                self.react(reaction);
            }
        }
    }

    fn react(&mut self, reaction: Reaction) {
        let Some(active) = &mut self.active else { return };
        match reaction {
            Reaction::Snapshot { number, alerts } => active.take_snapshot(number, alerts),
            Reaction::NoMore { alert } => {
                active.alarm.notices.tell(Notice::NoMoreSnapshots { alert });
            }
            Reaction::Stop { alert } => {
                if active.state < SessionState::Stopping {
                    active.recording.stopped_by = Some(alert.clone());
                    active.alarm.notices.tell(Notice::Stopping { alert });
                    self.give(Input::Terminate);
                }
            }
        }
    }

    /// Takes a snapshot for the caller.
    pub(super) fn caller_snapshot(
        &mut self,
        session: u64,
        path: PathBuf,
        answer: Sender<Result<u64, ManagerError>>,
    ) {
        let active = self.active.as_mut().filter(|active| active.number == session);
        match active {
            Some(active) => active.recording.snapshot(path, Origin::Caller(answer)),
            // The caller may not wait any longer.
            None => drop(answer.send(Err(ManagerError::SessionOver))),
        }
    }
}
