//! A session that has started.

use std::sync::Arc;
use std::time::Instant;

use log::Level;
use trace_protocol::control::{ControlError, GeneralError, Summary};
use trace_protocol::message::BufferDisposition;

use super::companion::StartCompanion;
use super::kept::KeptFile;
use crate::error::ManagerError;
use crate::manager::SessionHandle;
use crate::query::EventCounts;

/// Why a session cannot get a companion.
const ONLY_AT_START: &str = "categories of the kernel cannot be added to a running session\nhint: \
                            start another session";

/// A session that has started.
pub(super) struct Running {
    pub(super) handle: Arc<SessionHandle>,
    /// Its name; empty if the process has started it itself.
    pub(super) name: String,
    /// Its output, for people.
    pub(super) output: String,
    /// The user whose limit of messages in the log it has; `None` for those of the daemon itself.
    pub(super) owner: Option<u32>,
    /// Why it has no guard, if it should have one.
    pub(super) guard_failure: Option<&'static str>,
    /// Its events when they were counted the last time, and that time.
    pub(super) counted: Option<(Instant, EventCounts)>,
    /// The file by which it goes on after a kill of the daemon.
    pub(super) kept: Option<KeptFile>,
    /// Why its categories cannot change, if they cannot.
    pub(super) fixed_categories: Option<String>,
    /// Whether its archive is to be removed.
    pub(super) is_aborted: bool,
    /// What differs for the session that this process has started itself.
    pub(super) served: Option<Served>,
}

/// The session that this process has started itself.
pub(super) struct Served {
    pub(super) on_stop: Box<dyn Fn() + Send>,
}

impl Running {
    pub(super) fn new(handle: Arc<SessionHandle>, output: String) -> Self {
        Self {
            handle,
            name: String::new(),
            output,
            owner: None,
            guard_failure: None,
            counted: None,
            kept: None,
            fixed_categories: None,
            is_aborted: false,
            served: None,
        }
    }

    /// Notes that its duration begins, for a start after a kill of the daemon.
    pub(super) fn note_begin(&self) {
        self.kept.iter().for_each(KeptFile::note_begin);
    }

    pub(super) fn stop(&self) {
        self.kept.iter().for_each(KeptFile::remove);
        match &self.served {
            Some(served) => (served.on_stop)(),
            None => self.handle.stop(),
        }
    }

    pub(super) fn discard(&mut self) {
        self.is_aborted = true;
        self.kept.iter().for_each(KeptFile::remove);
        self.handle.discard();
    }

    /// Returns a line for the log about its end.
    pub(super) fn end(&self, summary: &Summary) -> (Level, String) {
        let Self { name, output, is_aborted, .. } = self;
        let bytes = summary.bytes;
        let removed = match summary.parts_removed {
            0 => String::new(),
            removed => format!(", and {removed} parts are removed"),
        };
        let files = match summary.parts.as_slice() {
            [] => output.clone(),
            [part] => part.clone() + &removed,
            [first, .., last] => format!("{first} to {last}{removed}"),
        };
        match &summary.failure {
            Some(failure) => {
                (Level::Error, format!("session {name} has failed: {}", failure.reason))
            }
            // An abort that comes too late does not remove the archive.
            None if *is_aborted && bytes == 0 => {
                (Level::Info, format!("session {name} was aborted"))
            }
            None => (Level::Info, format!("session {name} has ended: {bytes} bytes in {files}")),
        }
    }

    pub(super) fn set_categories(
        &self,
        categories: Vec<String>,
        companions: Option<&dyn StartCompanion>,
    ) -> Result<(), ControlError> {
        self.check_change(&categories, companions)?;
        self.handle.set_categories(categories).map_err(failed)
    }

    /// Starts the session again, which has stopped, with other categories if there are any.
    pub(super) fn start_again(
        &self,
        disposition: BufferDisposition,
        categories: Option<Vec<String>>,
        companions: Option<&dyn StartCompanion>,
    ) -> Result<(), ControlError> {
        if let Some(categories) = &categories {
            self.check_change(categories, companions)?;
        }
        self.handle.start_again(disposition, categories).map_err(failed)
    }

    /// Checks that the session can record these categories from now on.
    fn check_change(
        &self,
        categories: &[String],
        companions: Option<&dyn StartCompanion>,
    ) -> Result<(), ControlError> {
        let unsupported = |reason: &str| ControlError::general(GeneralError::Unsupported, reason);
        match &self.fixed_categories {
            Some(reason) => Err(unsupported(reason)),
            None if companions.is_some_and(|it| it.is_required(categories)) => {
                Err(unsupported(ONLY_AT_START))
            }
            None => Ok(()),
        }
    }
}

fn failed(error: ManagerError) -> ControlError {
    ControlError::general(GeneralError::Failed, error.to_string())
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("handle", &self.handle).finish_non_exhaustive()
    }
}
