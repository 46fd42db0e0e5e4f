//! The session of the `trace record` that has started this process.

use anyhow::Context;
use rustix::process::{getppid, Pid};

use crate::message::describe;
use crate::recorders::{self, Recorder};
use crate::say;

/// Ends the session, and returns the number of its snapshots. Returns 0 if it has ended already.
/// The program has ended.
pub(super) fn end() -> u64 {
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
