//! Catches panics before they reach C.

use std::panic::{catch_unwind, AssertUnwindSafe};

/// Catches a panic, which must not reach C, and returns `otherwise`. The panic hook has printed its
/// message.
pub(crate) fn contain<T>(otherwise: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(otherwise)
}
