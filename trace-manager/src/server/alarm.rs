//! Doing what alerts are to do.

use std::path::PathBuf;

use crossbeam_channel::Sender;

use super::event_loop::EventLoop;
use super::perform::Active;
use crate::error::ManagerError;
use crate::machine::{Input, ProviderId, Reaction, SessionState, Triggers};
use crate::notice::{Notice, Notices};
use crate::snapshot::{path_of, Origin};

/// What a session's alerts do, and who is told.
#[derive(Debug)]
pub(super) struct Alarm {
    pub(super) triggers: Triggers,
    pub(super) notices: Notices,
    /// The archive's path as the caller has it.
    pub(super) path: PathBuf,
}

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

impl Active {
    fn take_snapshot(&mut self, number: u32, alerts: Vec<String>) {
        let path = path_of(&self.alarm.path, number);
        self.recording.snapshot(path, Origin::Alerts(alerts));
    }

    /// Says which alerts have no snapshot because the session is over.
    pub(super) fn end_alarm(&mut self) {
        let alerts = self.alarm.triggers.end();
        if !alerts.is_empty() {
            let path = path_of(&self.alarm.path, self.alarm.triggers.taken() + 1);
            self.recording.refuse_snapshot(path, Origin::Alerts(alerts), ManagerError::SessionOver);
        }
    }
}
