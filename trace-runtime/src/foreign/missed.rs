//! Calls that a caller with trace points of its own did not record.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of missed calls of the current recording. Rules: callers add to it, the service
/// thread resets it.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// Has the trace report, at its end, this many more calls as not recorded.
///
/// Call it at the latest in [`TraceState::Stopping`](crate::TraceState::Stopping).
pub fn add_missed_calls(number: u64) {
    MISSED.fetch_add(number, Ordering::Relaxed);
}

/// Returns the number of missed calls since the last call.
pub(crate) fn take_missed_calls() -> u64 {
    MISSED.swap(0, Ordering::Relaxed)
}
