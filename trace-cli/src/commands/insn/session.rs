//! The session that records the program, too: it arms the trace points of a scope, and evaluates
//! the conditions of snapshots.

mod attached;
mod recorder;

use anyhow::Result;

use self::attached::AttachedSession;
use super::snapshot::Requests;
use crate::cli::{InsnRecordArgs, InsnSnapshot};
use crate::insn_session::NEVER;

/// A session.
#[derive(Debug)]
pub(super) enum Session {
    /// There is none, or it is needed no longer.
    None,
    /// That of the `trace record` that has started this process.
    OfRecorder,
    /// One of the daemon, for a program that runs already.
    OfDaemon(AttachedSession),
}

/// Returns the triggers of the session. There are none if the recording needs no session.
pub(super) fn triggers(args: &InsnRecordArgs) -> Vec<String> {
    let never = NEVER.as_nanos();
    let of_scope = args.in_scope.iter().map(|scope| format!("duration:{scope}>{never}ns"));
    let of_snapshots = args.snapshot.iter().filter_map(InsnSnapshot::trigger);
    of_scope.chain(of_snapshots.map(ToString::to_string)).collect()
}

impl Session {
    /// Starts the session of a process that runs already. Each snapshot that it takes adds to
    /// `requests`.
    pub(super) fn start(args: &InsnRecordArgs, requests: &Requests) -> Result<Self> {
        match (args.attach, triggers(args)) {
            (_, triggers) if triggers.is_empty() => Ok(Self::None),
            (None, _) => {
                requests.have_recorder();
                Ok(Self::OfRecorder)
            }
            (Some(pid), triggers) => {
                AttachedSession::start(args, pid, triggers, requests).map(Self::OfDaemon)
            }
        }
    }

    /// Ends the session, and returns the number of its snapshots, and whether it has recorded until
    /// now. `has_ended` is whether a program of the recording has: one that was released goes on,
    /// and so does the recorder's session.
    ///
    /// The session takes all alerts and scopes of the program into account before it ends. Its
    /// announcements of snapshots may come too late.
    pub(super) fn end(self, args: &InsnRecordArgs, has_ended: bool) -> (u64, Result<()>) {
        let has_conditions =
            args.snapshot.iter().any(|it| matches!(it, InsnSnapshot::Condition(_)));
        match self {
            Self::OfDaemon(session) => match session.end() {
                Ok(snapshots) => (snapshots, Ok(())),
                Err(error) => (0, Err(error)),
            },
            Self::OfRecorder if has_ended && has_conditions => (recorder::end(), Ok(())),
            Self::OfRecorder | Self::None => (0, Ok(())),
        }
    }

    /// Ends the session of a recording that does not begin, without its archive.
    pub(super) fn discard(self) {
        if let Self::OfDaemon(session) = self {
            session.discard();
        }
    }
}
