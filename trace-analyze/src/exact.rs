//! Integers in JSON.

use serde_json::Value;

/// The largest integer that JavaScript does not round, 2^53 - 1.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Returns an id as JSON that no reader rounds: ids beyond 2^53 - 1, such as the koids of tracks,
/// are strings.
#[must_use]
pub fn exact(id: u64) -> Value {
    match id <= MAX_SAFE_INTEGER {
        true => id.into(),
        false => id.to_string().into(),
    }
}
