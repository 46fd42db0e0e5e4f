//! A session that has not ended.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use crossbeam_channel::Sender;
use trace_protocol::archive::ClockSample;

use super::command::SharedProgress;
use crate::collection::Collection;
use crate::error::ManagerError;
use crate::ledger::GuardHandle;
use crate::machine::{SessionState, Triggers};
use crate::notice::{Notice, NoticeSender};
use crate::query::SessionInfo;
use crate::recording::{EndedRecording, Recording};
use crate::snapshot::{Requester, SnapshotNames};
use crate::summary::Progress;
use crate::trigger::Cause;

/// The alerts of a session: their effects, and the notices of them.
#[derive(Debug)]
pub(super) struct Alerts {
    pub(super) triggers: Triggers,
    pub(super) notices: NoticeSender,
    pub(super) names: SnapshotNames,
}

/// A session that has not ended.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) number: u64,
    pub(super) recording: Recording,
    pub(super) alerts: Alerts,
    pub(super) shared: Arc<SharedProgress>,
    pub(super) done: Sender<EndedRecording>,
    pub(super) state: SessionState,
    pub(super) published_at: Instant,
    pub(super) guard: Option<GuardHandle>,
    /// Why the guard would not complete the archive.
    pub(super) guard_failure: Option<String>,
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
        Self {
            number,
            recording,
            alerts,
            shared,
            done,
            state,
            published_at: Instant::now(),
            guard: None,
            guard_failure: None,
        }
    }

    /// Reports that all programs record.
    pub(super) fn note_start(&self) {
        self.alerts.notices.send(Notice::Started);
    }

    /// Notes and reports that the session may start again. One that is about to end is never only
    /// stopped.
    pub(super) fn pause(&mut self) {
        self.recording.pause(ClockSample::now());
        self.alerts.notices.send(Notice::Stopped);
    }

    /// Notes and reports the first failure of the guard.
    pub(super) fn check_guard(&mut self) {
        if let Some(reason) = self.guard.as_ref().and_then(GuardHandle::failure) {
            self.fail_guard(reason);
        }
    }

    /// Reports the programs that the session does not record.
    pub(super) fn report_refusals(&mut self) {
        for refusal in self.recording.new_refusals() {
            self.alerts.notices.send(Notice::Refused(refusal.clone()));
        }
    }

    /// Reports that the guard is given up.
    pub(super) fn fail_guard(&mut self, reason: &str) {
        self.guard = None;
        self.guard_failure = Some(reason.to_owned());
        self.alerts.notices.send(Notice::GuardFailed { reason: reason.to_owned() });
    }

    /// Returns the progress. `providers` is the number of those that take part now.
    pub(super) fn progress(&self, collection: &Collection, providers: usize) -> Progress {
        let status = self.recording.writer_status();
        let (refusals, last_refusal) = self.recording.refusals();
        Progress {
            state: self.state,
            elapsed: self.recording.elapsed(),
            providers,
            joined: self.recording.programs(),
            events: self.recording.events(collection),
            bytes: status.bytes(),
            lost: self.recording.lost(collection).saturating_add(status.unwritten()),
            refusals,
            last_refusal,
            archive_failure: status.problem(),
            guard_failure: self.guard_failure.clone(),
        }
    }

    pub(super) fn info(&self) -> SessionInfo {
        let config = self.recording.config();
        SessionInfo {
            number: self.number,
            state: self.state,
            elapsed: self.recording.elapsed(),
            categories: config.categories.clone(),
            mode: config.mode,
            buffer_size: config.buffer_size,
        }
    }

    /// Takes a snapshot for triggers. All copies are checked before the call.
    pub(super) fn take_snapshot(&mut self, collection: &Collection, causes: Vec<Cause>) {
        let path = self.alerts.names.next(SystemTime::now());
        self.recording.snapshot(collection, path, Requester::Triggers(causes));
    }

    /// Reports the triggers whose snapshot the session's end prevented.
    pub(super) fn end_alerts(&mut self) {
        for causes in self.alerts.triggers.end() {
            let (path, ended) =
                (self.alerts.names.next(SystemTime::now()), ManagerError::SessionEnded);
            self.recording.refuse_snapshot(path, Requester::Triggers(causes), ended);
        }
    }
}
