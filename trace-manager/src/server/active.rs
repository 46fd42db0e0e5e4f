//! The session that is active.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;

use super::command::Shared;
use crate::error::ManagerError;
use crate::machine::{SessionState, Triggers};
use crate::notice::Notices;
use crate::recording::{Recorded, Recording};
use crate::snapshot::{path_of, Origin};
use crate::summary::Progress;

/// What a session's alerts do, and who is told.
#[derive(Debug)]
pub(super) struct Alarm {
    pub(super) triggers: Triggers,
    pub(super) notices: Notices,
    /// The archive's path as the caller has it.
    pub(super) path: PathBuf,
}

/// The session that is active.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) number: u64,
    pub(super) recording: Recording,
    pub(super) alarm: Alarm,
    pub(super) shared: Arc<Shared>,
    pub(super) done: Sender<Recorded>,
    pub(super) state: SessionState,
    pub(super) shown: Instant,
}

impl Active {
    pub(super) fn new(
        number: u64,
        recording: Recording,
        alarm: Alarm,
        shared: Arc<Shared>,
        done: Sender<Recorded>,
    ) -> Self {
        let state = SessionState::Initialized;
        Self { number, recording, alarm, shared, done, state, shown: Instant::now() }
    }

    pub(super) fn progress(&self) -> Progress {
        let status = self.recording.writer_status();
        let (providers, joined) = self.recording.providers();
        Progress {
            state: self.state,
            elapsed: self.recording.elapsed(),
            providers,
            joined,
            events: self.recording.events(),
            bytes: status.bytes(),
            lost: self.recording.lost(),
            archive_failure: status.failure(),
        }
    }

    pub(super) fn take_snapshot(&mut self, number: u32, alerts: Vec<String>) {
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
