//! The session that records the program, too, and evaluates the conditions of snapshots.

use anyhow::Context;
use rustix::process::{getppid, Pid};

use crate::cli::{InsnRecordArgs, InsnSnapshot};
use crate::message::describe;
use crate::recorders::{self, Recorder};
use crate::say;

/// Ends the session of the `trace record` that has started this process, and returns the number of
/// its snapshots. Returns 0 without conditions, and if the session has ended already. The program
/// has ended.
///
/// The session takes all alerts and scopes of the program into account before it ends. Its signals
/// to this process may come too late.
pub(super) fn end(args: &InsnRecordArgs) -> u64 {
    if !args.snapshot.iter().any(|it| matches!(it, InsnSnapshot::Condition(_))) {
        return 0;
    }
    let parent = getppid().map(Pid::as_raw_nonzero).map(|pid| pid.get().unsigned_abs());
    let recorder = recorders::find().into_iter().find(|recorder| Some(recorder.pid) == parent);
    recorder.map_or(0, end_session)
}

fn end_session(Recorder { session, mut controller, .. }: Recorder) -> u64 {
    // Writing the results may take any time.
    controller.set_timeout(None);
    match controller.stop(&session.name).context("the last snapshot may be missing") {
        Ok(summary) => summary.snapshots.len() as u64 + summary.snapshots_removed,
        Err(error) => {
            say(&describe(error.as_ref()));
            0
        }
    }
}
