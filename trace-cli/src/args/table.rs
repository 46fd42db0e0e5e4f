//! Grouping and order of table rows.

use clap::ValueEnum;
use trace_analyze::stats::Grouping;

/// How rows are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// One row for each thread
    Thread,
    /// One row for each process
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
    /// Total time
    Total,
    /// Time outside inner durations
    #[value(name = "self")]
    Own,
    /// Time on a processor
    OnCpu,
    /// Count
    Count,
    /// Mean
    Mean,
    /// Minimum
    Min,
    /// Median
    P50,
    /// 90th percentile
    P90,
    /// 99th percentile
    P99,
    /// 99.9th percentile
    #[value(name = "p99.9", alias = "p999")]
    P999,
    /// Maximum
    Max,
    /// Category and name, alphabetically
    Name,
}
