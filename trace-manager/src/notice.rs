//! The notices of a running session to its caller.

use std::path::PathBuf;

use crossbeam_channel::{Receiver, Sender};

use crate::summary::SnapshotSummary;
use crate::trigger::Cause;

/// The number of notices that can wait for the caller. Alerts use half of it: the notices of their
/// effects are more important.
const CAPACITY: usize = 1024;

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
    /// A provider gets a new buffer, because its sessions changed and its mode or its version
    /// permits no change while it records. The trace has an event `recording interrupted`.
    Restart {
        /// The provider's name.
        name: String,
        /// The provider's process.
        pid: u32,
    },
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

/// The session's end of the channel.
#[derive(Debug, Clone)]
pub(crate) struct NoticeSender(Sender<Notice>);

impl NoticeSender {
    pub(crate) fn new() -> (Self, Receiver<Notice>) {
        let (sender, receiver) = crossbeam_channel::bounded(CAPACITY);
        (Self(sender), receiver)
    }

    /// Sends a notice without waiting. Drops it if the channel is full.
    pub(crate) fn send(&self, notice: Notice) {
        let is_alert = matches!(notice, Notice::Alert { .. });
        if !is_alert || self.0.len() < CAPACITY / 2 {
            // Fails if the caller does not receive.
            let _ = self.0.try_send(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(pid: u32) -> Notice {
        Notice::Alert { name: "alert".to_owned(), pid }
    }

    fn stopping() -> Notice {
        Notice::Stopping { cause: Cause::Alert("alert".to_owned()) }
    }

    /// A caller that receives late still gets the effects of alerts.
    #[test]
    fn alerts_leave_half_of_the_space_to_other_notices() {
        let (notices, receiver) = NoticeSender::new();
        (0..2000).for_each(|pid| notices.send(alert(pid)));
        assert_eq!(receiver.len(), 512);
        (0..2000).for_each(|_| notices.send(stopping()));
        assert_eq!(receiver.len(), 1024);
        notices.send(alert(0));
        let received: Vec<_> = receiver.try_iter().collect();
        assert!(received[..512].iter().zip(0..).all(|(notice, pid)| *notice == alert(pid)));
        assert!(received[512..].iter().all(|notice| *notice == stopping()));
        notices.send(alert(7));
        assert_eq!(receiver.try_recv(), Ok(alert(7)), "the channel has space again");
    }
}
