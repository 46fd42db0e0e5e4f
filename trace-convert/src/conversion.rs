//! What a conversion has come to.

use trace_analyze::Damage;

/// What a conversion of an archive has come to.
#[derive(Debug, Default)]
pub struct Conversion {
    /// What was read, and what is missing.
    pub damage: Damage,
    /// Events written.
    pub events: u64,
    /// Arguments of counters that are left out because they are not numbers.
    pub counter_values_left_out: u64,
    /// Durations that end before they begin; they are written with length 0.
    pub reversed_durations: u64,
}
