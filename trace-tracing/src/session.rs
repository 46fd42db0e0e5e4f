//! The number of the recording.

use std::sync::atomic::{AtomicU32, Ordering};

/// Rules: only the observer of recordings stores it.
static NUMBER: AtomicU32 = AtomicU32::new(1);

/// Returns the number of the current recording, or of the last one. Neither 0 nor `u32::MAX`.
#[inline]
pub(crate) fn number() -> u32 {
    NUMBER.load(Ordering::Relaxed)
}

/// Advances the number, when a recording begins.
pub(crate) fn advance() {
    NUMBER.store(number() % (u32::MAX - 1) + 1, Ordering::Relaxed);
}
