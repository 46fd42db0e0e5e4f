//! The number of the recording in the state of a track.

use trace_runtime::context::spans::recording;

/// Returns the number of the current recording, or of the last one. Neither 0 nor `u32::MAX`.
#[inline]
pub(crate) fn number() -> u32 {
    number_of(recording())
}

/// Returns the number of a recording. Neither 0 nor `u32::MAX`.
#[inline]
pub(crate) fn number_of(recording: u64) -> u32 {
    (recording % u64::from(u32::MAX - 1)) as u32 + 1
}
