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

/// How the rows of `trace stats` are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StatsBy {
    /// By thread or process.
    Group(GroupBy),
    /// By the ancestors of operations.
    Parent,
    /// By the value of an argument.
    Argument(String),
}

/// Reads `thread`, `process`, `parent`, or `arg:KEY`.
pub(crate) fn parse_stats_by(text: &str) -> Result<StatsBy, String> {
    match text {
        "thread" => Ok(StatsBy::Group(GroupBy::Thread)),
        "process" => Ok(StatsBy::Group(GroupBy::Process)),
        "parent" => Ok(StatsBy::Parent),
        _ => parse_argument_key(text)
            .map(StatsBy::Argument)
            .map_err(|argument| argument.replacen("use", "use thread, process, parent, or", 1)),
    }
}

/// Reads `arg:KEY`, and returns KEY.
pub(crate) fn parse_argument_key(text: &str) -> Result<String, String> {
    let key = text.strip_prefix("arg:").filter(|key| !key.is_empty());
    key.map(str::to_owned).ok_or_else(|| "use arg:KEY with the name of an argument".to_owned())
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
    /// Category and name, or with --sched name and id of the thread, alphabetically
    Name,
    /// With --sched: time on a CPU
    Run,
    /// With --sched: time waiting for a CPU
    Runnable,
    /// With --sched: time between leaving a CPU and the wake-up
    Blocked,
    /// With --sched: number of switches to the thread
    #[value(alias = "switches")]
    Turns,
    /// With --sched: number of preemptions
    Preempted,
    /// With --sched: 99th percentile of the wake-up latencies, as p99
    Latency,
}

/// The tables that `trace stats` sorts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortedTable {
    Durations,
    /// The states of threads.
    Threads,
    /// The functions of samples.
    Functions,
}

impl SortBy {
    /// Returns whether it is a column of a table.
    pub(crate) fn is_column(self, table: SortedTable) -> bool {
        match self {
            Self::Name => true,
            Self::Total | Self::Own => table != SortedTable::Threads,
            Self::OnCpu | Self::Count | Self::Mean | Self::Min => table == SortedTable::Durations,
            Self::P50 | Self::P90 | Self::P99 | Self::P999 | Self::Max => {
                table != SortedTable::Functions
            }
            Self::Run
            | Self::Runnable
            | Self::Blocked
            | Self::Turns
            | Self::Preempted
            | Self::Latency => table == SortedTable::Threads,
        }
    }
}
