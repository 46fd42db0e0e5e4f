//! The notices of a running session to its caller.

mod queue;

use std::path::PathBuf;

pub(crate) use queue::{NoticeReceiver, NoticeSender};

use crate::summary::{Refusal, SnapshotSummary};
use crate::trigger::Cause;

/// A notice of a session; see [`SessionHandle::next_notice`](crate::SessionHandle::next_notice).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A provider raised an alert. Its triggers act without the caller.
    Alert {
        /// The alert's name.
        name: String,
        /// The provider's process.
        pid: u32,
        /// Whether the session's triggers act on alerts of its user.
        is_heeded: bool,
    },
    /// A snapshot of alerts, or one that the caller requested, was written or failed.
    Snapshot {
        /// Its path.
        path: PathBuf,
        /// Its causes; none if the caller requested it.
        causes: Vec<Cause>,
        /// Its size in bytes, or the error.
        result: Result<u64, String>,
    },
    /// A part of an archive that is cut has its name. The last one has no notice: it is complete
    /// after the end.
    Part {
        /// Its path.
        path: PathBuf,
    },
    /// A provider gets a new buffer, because its sessions changed and its mode or its version
    /// permits no change while it records. The trace has an event `recording interrupted`.
    Restart {
        /// The provider's name.
        name: String,
        /// The provider's process.
        pid: u32,
    },
    /// The session does not record a program. Only the first ones have a notice, and none that the
    /// results alone have: [`SessionSummary::refusals`](crate::SessionSummary::refusals).
    Refused(Refusal),
    /// The guard would not complete the archive if the manager were killed. The session continues
    /// without it.
    GuardFailed {
        /// The reason.
        reason: String,
    },
    /// The session does not record, and can start again: see
    /// [`SessionHandle::pause`](crate::SessionHandle::pause).
    Stopped,
    /// The session starts again: see
    /// [`SessionHandle::start_again`](crate::SessionHandle::start_again).
    StartedAgain,
    /// All programs of the session record, or have not replied in time: after its start, and after
    /// each further one.
    Started,
    /// A trigger stops the session.
    Stopping {
        /// The cause.
        cause: Cause,
    },
}

impl Notice {
    pub(crate) fn of_snapshot(summary: &SnapshotSummary) -> Self {
        let result = summary.archive.as_ref().map(|bytes| *bytes).map_err(ToString::to_string);
        Self::Snapshot { path: summary.path.clone(), causes: summary.causes.clone(), result }
    }
}
