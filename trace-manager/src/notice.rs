//! What a session tells its caller while it runs.

use std::path::PathBuf;

use crossbeam_channel::{Receiver, Sender};

use crate::summary::SnapshotSummary;

/// Notices that wait for the caller. Beyond half of that, alerts are left out; what they did is
/// told all the same.
const MAX_WAITING: usize = 1024;

/// What a session tells its caller; see
/// [`SessionHandle::next_notice`](crate::SessionHandle::next_notice).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A provider raised an alert. What its triggers do happens without the caller.
    Alert {
        /// The alert's name.
        name: String,
        /// The provider's process.
        pid: u32,
    },
    /// An alert's snapshot is written, or could not be.
    Snapshot {
        /// Where it is.
        path: PathBuf,
        /// The alerts that it is for.
        alerts: Vec<String>,
        /// Its size in bytes, or why there is none.
        result: Result<u64, String>,
    },
    /// An alert has no snapshot, and no later one has: there were too many.
    NoMoreSnapshots {
        /// The alert's name.
        alert: String,
    },
    /// An alert stops the session.
    Stopping {
        /// The alert's name.
        alert: String,
    },
}

impl Notice {
    pub(crate) fn of_snapshot(summary: &SnapshotSummary) -> Self {
        let result = summary.archive.as_ref().map(|bytes| *bytes).map_err(ToString::to_string);
        Self::Snapshot { path: summary.path.clone(), alerts: summary.alerts.clone(), result }
    }
}

/// The session's end.
#[derive(Debug, Clone)]
pub(crate) struct Notices(Sender<Notice>);

impl Notices {
    pub(crate) fn new() -> (Self, Receiver<Notice>) {
        let (sender, receiver) = crossbeam_channel::bounded(MAX_WAITING);
        (Self(sender), receiver)
    }

    /// Tells the caller, if there is room. Never waits.
    pub(crate) fn tell(&self, notice: Notice) {
        let is_alert = matches!(notice, Notice::Alert { .. });
        if !is_alert || self.0.len() < MAX_WAITING / 2 {
            // Full: the caller does not look.
            let _ = self.0.try_send(notice);
        }
    }
}
