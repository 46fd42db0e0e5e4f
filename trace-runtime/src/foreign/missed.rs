//! What a caller with trace points of its own did not record.

use std::sync::atomic::{AtomicU64, Ordering};

use trace_protocol::buffer::omission::Omission;

/// The numbers of missed calls, and of objects without calls, of the current recording. Rules:
/// callers add to them, the service thread resets them.
static CALLS: AtomicU64 = AtomicU64::new(0);
static OBJECTS: AtomicU64 = AtomicU64::new(0);

/// Has the trace report, at its end, this many more calls as not recorded.
///
/// Call it at the latest in [`TraceState::Stopping`](crate::TraceState::Stopping).
pub fn add_missed_calls(number: u64) {
    CALLS.fetch_add(number, Ordering::Relaxed);
}

/// Has the trace report, at its end, another program or library whose sleds could not be patched.
///
/// Call it at the latest in [`TraceState::Stopping`](crate::TraceState::Stopping).
pub fn add_missed_object() {
    OBJECTS.fetch_add(1, Ordering::Relaxed);
}

/// Returns what was missed since the last call.
pub(crate) fn take_missed() -> [(Omission, u64); 2] {
    [(Omission::Calls, &CALLS), (Omission::Sleds, &OBJECTS)]
        .map(|(what, number)| (what, number.swap(0, Ordering::Relaxed)))
}
