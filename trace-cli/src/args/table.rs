//! What rows of a table are for, and their order.

use clap::ValueEnum;
use trace_analyze::stats::Grouping;

/// What there is a row for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// Each thread
    Thread,
    /// Each process
    Process,
}

impl From<GroupBy> for Grouping {
    fn from(by: GroupBy) -> Self {
        match by {
            GroupBy::Thread => Self::Thread,
            GroupBy::Process => Self::Process,
        }
    }
}

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    /// The sum of all lengths
    Total,
    /// The time that no inner duration takes
    #[value(name = "self")]
    Own,
    /// The time on a processor
    OnCpu,
    /// How many there are
    Count,
    /// The mean
    Mean,
    /// The smallest length
    Min,
    /// The median
    P50,
    /// The 90th percentile
    P90,
    /// The 99th percentile
    P99,
    /// The 99.9th percentile
    #[value(name = "p99.9", alias = "p999")]
    P999,
    /// The largest length
    Max,
    /// Category and name, from A
    Name,
}
