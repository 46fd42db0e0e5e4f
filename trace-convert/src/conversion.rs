//! The result of a conversion.

use trace_analyze::Damage;

use crate::Symbols;

/// The result of a conversion of an archive.
#[derive(Debug, Default)]
pub struct Conversion {
    /// Statistics of the input, and its missing data.
    pub damage: Damage,
    /// Events written.
    pub events: u64,
    /// Values of counters that are skipped because they are not numbers.
    pub counter_values_left_out: u64,
    /// Durations that end before they begin. They are written with length 0.
    pub reversed_durations: u64,
    /// Records of modules and mappings that are not used to name functions, because there are too
    /// many.
    pub mappings_left_out: u64,
    /// The names of functions, if the format has samples.
    pub symbols: Option<Symbols>,
}
