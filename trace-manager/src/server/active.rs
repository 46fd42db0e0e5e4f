//! The active session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;

use super::command::SharedProgress;
use crate::error::ManagerError;
use crate::machine::{SessionState, Triggers};
use crate::notice::NoticeSender;
use crate::recording::{EndedRecording, Recording};
use crate::snapshot::{snapshot_path, Requester};
use crate::summary::Progress;

/// The alerts of a session: their effects, and the notices of them.
#[derive(Debug)]
pub(super) struct Alerts {
    pub(super) triggers: Triggers,
    pub(super) notices: NoticeSender,
    /// The archive's path, as given by the caller.
    pub(super) path: PathBuf,
}

/// The active session.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) number: u64,
    pub(super) recording: Recording,
    pub(super) alerts: Alerts,
    pub(super) shared: Arc<SharedProgress>,
    pub(super) done: Sender<EndedRecording>,
    pub(super) state: SessionState,
    pub(super) published_at: Instant,
}

impl Active {
    pub(super) fn new(
        number: u64,
        recording: Recording,
        alerts: Alerts,
        shared: Arc<SharedProgress>,
        done: Sender<EndedRecording>,
    ) -> Self {
        let state = SessionState::Initialized;
        Self { number, recording, alerts, shared, done, state, published_at: Instant::now() }
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
        let path = snapshot_path(&self.alerts.path, number);
        self.recording.snapshot(path, Requester::Alerts(alerts));
    }

    /// Reports the alerts whose snapshot the session's end prevented.
    pub(super) fn end_alerts(&mut self) {
        let alerts = self.alerts.triggers.end();
        if !alerts.is_empty() {
            let path = snapshot_path(&self.alerts.path, self.alerts.triggers.taken() + 1);
            self.recording.refuse_snapshot(
                path,
                Requester::Alerts(alerts),
                ManagerError::SessionEnded,
            );
        }
    }
}
