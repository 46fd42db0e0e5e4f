//! Arguments of the commands that analyze archives.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trace_analyze::arguments::Condition;

use super::{ClientArgs, Inputs, Selection};
use crate::args::{
    parse_argument_key, parse_condition, parse_id, parse_moment, parse_share, parse_stats_by,
    parse_time, GroupBy, Moment, SortBy, StatsBy,
};

/// Show counts, totals and percentiles for each duration
///
/// Prints one row for each category and name: first durations, then async
/// operations. Polls of async operations, and drops of futures after the last
/// poll, have rows of their own. COUNT has durations and operations with a begin
/// and an end; others are reported. SELF excludes inner durations. ON-CPU is the time on a
/// processor, if the archive has scheduling records. Percentiles are exact up
/// to 2048 values in a row, and within 0.2 % beyond. Missing data is reported
/// on standard error.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace stats trace.fxt
  trace stats trace.fxt --sort p99 --limit 10
  trace stats trace.fxt --by thread -c 'net*,-net.dns'
  trace stats trace.fxt --by arg:url            # a row for each value of an argument
  trace stats trace.fxt -n query --by arg:user --inherit # of the request around each query
  trace stats trace.fxt --rate --sort count     # how often each ran, also per second
  trace slice trace.fxt --from 1s --to 2s --clip -o - | trace stats - --rate  # in this second
  trace stats trace.fxt --by parent             # request → user → query
  trace stats trace.fxt --slowest 10 -n request # with their arguments
  trace stats trace.fxt --over 50ms -n request  # how many requests take longer
  trace stats trace.fxt --arg 'path=/item/*'    # of one route
  trace stats trace.fxt --at 1.5s -t worker     # what the thread did, or waited for, at that time
  trace stats trace.fxt --flows                 # from begin to end
  trace stats trace.fxt --sched                 # what the scheduler did to each thread
  trace stats trace.fxt --sched --sort latency  # which threads wait longest after wake-ups
  trace stats trace.fxt --json | jq '.durations[] | select(.p99_ns > 1e6).name'")]
pub(crate) struct StatsArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Select events by an argument of their begin or end, and polls by one of their operation;
    /// repeatable. A `*` at the end of VALUE matches any text
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_condition, conflicts_with_all = ["by", "counters", "sched"])]
    pub(crate) arg: Vec<Condition>,

    /// Select durations, async operations and flows that last longer, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with_all = ["counters", "instants", "sched"])]
    pub(crate) over: Option<Duration>,

    /// Sort by COLUMN, largest first [default: total; run with --sched; self with --samples]
    #[arg(long, value_enum, value_name = "COLUMN")]
    pub(crate) sort: Option<SortBy>,

    /// Print at most N rows of each kind [default: all; 20 preemptions or functions]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Split rows by thread, process, parent (the operations around an async operation), or arg:KEY
    /// (the value of the argument KEY) [default: no split]
    #[arg(long, alias = "group-by", value_name = "WHAT", value_parser = parse_stats_by)]
    pub(crate) by: Option<StatsBy>,

    /// With --by arg:KEY, give events without the argument KEY its value of the nearest duration or
    /// operation around them that has it
    #[arg(long)]
    pub(crate) inherit: bool,

    /// Add the counts per second between the first and the last event of the archive
    #[arg(long, conflicts_with_all = ["slowest", "at", "counters", "json", "csv"])]
    pub(crate) rate: bool,

    /// Show the N longest durations and async operations, with thread, time and arguments, below
    /// the rows of their names. With scheduling records, also for how long the thread of a duration
    /// ran, waited for a CPU, and was blocked, and its longest wait
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "by", "flows", "counters", "instants", "csv"])]
    pub(crate) slowest: Option<usize>,

    /// Show the durations and async operations at a time, the longest first: 1.5s after the first
    /// event, 60% of the trace's time, or `@` and a time that `trace dump` prints, also with a
    /// distance (@12.5s+5ms). With scheduling records, the states of threads come first: on which
    /// CPU, or since when not, and which thread wakes it up next. --limit is that of each table.
    /// Times are in the form of TIME: since the first event, or with `@` those of the clock
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with_all = ["by", "flows", "counters", "instants", "csv"])]
    pub(crate) at: Option<Moment>,

    /// Show flows, from begin to end, instead of durations
    #[arg(long, conflicts_with = "instants")]
    pub(crate) flows: bool,

    /// Show values of counters instead of durations
    #[arg(long, conflicts_with_all = ["flows", "instants"])]
    pub(crate) counters: bool,

    /// Show counts of instants instead of durations
    #[arg(long)]
    pub(crate) instants: bool,

    /// Show the states of threads instead of durations: time on a CPU, time waiting for one,
    /// blocked time, wake-up latencies, and which thread got the CPU first (record with `--sched`)
    #[arg(long, conflicts_with_all = ["categories", "name", "by", "slowest", "at", "rate", "flows", "counters", "instants", "csv"])]
    pub(crate) sched: bool,

    /// Show the functions that samples of call stacks are in, instead of durations: SELF is the
    /// number of samples in the function itself, TOTAL also has those in functions that it called.
    /// With -c, -n or --over, only samples within such durations count (record with `--samples`)
    #[arg(long, conflicts_with_all = ["by", "arg", "slowest", "at", "rate", "flows", "counters", "instants", "sched"])]
    pub(crate) samples: bool,

    /// Print all kinds as JSON, times in nanoseconds
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,

    /// Print comma-separated values with a header, times in nanoseconds
    #[arg(long)]
    pub(crate) csv: bool,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Show which durations became slower or faster
///
/// Compares durations, async operations and flows of the same category and
/// name by their medians; --by also separates them by an argument, and --self
/// compares the time outside inner durations. A row is shown if its change exceeds the threshold
/// and the change's interval excludes zero. A row is `alike` if the interval is
/// within the threshold, else `unclear`, or `minor` if it has less than 0.1% of
/// the longest row's time. Rows with the largest change of total time come
/// first.
///
/// One archive a side cannot show what the machine did all through a run, so
/// only changes beyond --run-noise are detected. Record five or more archives a
/// side, and alternate the sides: then the run is the unit of the statistics,
/// and one outlying run in five is left out.
#[derive(Debug, Args)]
#[command(after_long_help = "\
CHANGE estimates the change of the median, and INTERVAL is its confidence interval, corrected for
the number of rows: at most --significance of the rows called slower or faster are so by chance.
With several runs a side, CHANGE is the mean over runs; with one, the mean over stretches of time.
P50 BEFORE, P50 AFTER and their DIFFERENCE are of the medians of all durations, so that CHANGE can
differ. The line after the table reports how many runs would make unclear rows clear.

Exit status:
    3  no row is in both archives, so nothing was compared
    4  a row became slower by more than --fail-over, and its interval excludes less
    5  it is unclear whether a row became slower (--fail-on-unclear); a row in fewer than 3 runs of
       a side is `rare`, not unclear

Examples:
  trace diff before.fxt after.fxt
  trace diff main.fxt.zst branch.fxt.zst --fail-over 5% -c 'server*'
  trace diff --before main-*.fxt --after branch-*.fxt --fail-over 5%
  trace diff before.fxt after.fxt --by arg:url  # which requests became slower
  trace diff before.fxt after.fxt --self        # which code became slower")]
pub(crate) struct DiffArgs {
    /// Archives before and after the change; `-` for standard input
    #[arg(num_args = 2.., value_names = ["BEFORE", "AFTER"], required_unless_present = "before", conflicts_with = "before")]
    pub(crate) files: Vec<PathBuf>,

    /// Exit with 4 if a row became slower by more than this, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub(crate) fail_over: Option<f64>,

    /// Exit with 5 if a row is unclear; with --fail-over, if it may be slower by more than that
    #[arg(long)]
    pub(crate) fail_on_unclear: bool,

    /// Archives before the change, one per run, at least 3
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "after")]
    pub(crate) before: Vec<PathBuf>,

    /// Archives after the change, one per run, at least 3
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "before")]
    pub(crate) after: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Compare separate rows for the values of the argument KEY, as trace stats shows them. The
    /// first 1000 values of an archive have rows
    #[arg(long, value_name = "arg:KEY", value_parser = parse_argument_key)]
    pub(crate) by: Option<String>,

    /// Compare the self time of durations: the time outside inner durations. Async operations and
    /// flows have none, and are left out
    #[arg(long = "self")]
    pub(crate) own: bool,

    /// Show also rows that are alike, unclear, minor, rare, new or gone
    #[arg(long)]
    pub(crate) all: bool,

    /// Print at most N rows of the table [default: all that became slower or faster]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Smallest change to show; --fail-over lowers it
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = parse_share)]
    pub(crate) threshold: f64,

    /// Largest share of false alarms among the rows called slower or faster
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = parse_share)]
    pub(crate) significance: f64,

    /// How much longer a run may take than another one of the same program; with one archive a
    /// side, smaller changes are unclear
    #[arg(long, value_name = "PERCENT", default_value = "60%", value_parser = parse_share)]
    pub(crate) run_noise: f64,

    /// Print all rows as JSON, times in nanoseconds
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Show the durations with the most self time
///
/// SELF excludes inner durations, and SHARE is the part of the self time of all
/// selected durations. The rows are sorted by SELF, which shows where a change
/// of the code would save the most time.
#[derive(Debug, Args)]
#[command(override_usage = "\
trace top [OPTIONS] <FILE>
       trace top --live [OPTIONS] [SESSION]")]
#[command(after_long_help = "\
Examples:
  trace top trace.fxt
  trace top trace.fxt -c 'net*' --limit 5
  trace top trace.fxt --by thread
  trace top --live                 # the only session of the daemon
  trace top --live app.fxt         # while trace record writes it")]
pub(crate) struct TopArgs {
    /// Archive to read; `-` for standard input. With --live, a session of the daemon or
    /// an archive that is still written [default: the only session]
    #[arg(value_name = "FILE", required_unless_present = "live")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Print at most N rows
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Split rows by thread or process [default: no split]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<GroupBy>,

    /// Print the rows as JSON, times in nanoseconds; with --live a line each second
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Show the scopes of the last seconds, with rate, mean and 99th percentile,
    /// counters, losses and programs. Prints a table each second if the output is not
    /// a terminal
    #[arg(long, conflicts_with = "by")]
    pub(crate) live: bool,

    /// Time that --live counts
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "live", value_parser = parse_time)]
    pub(crate) window: Duration,

    /// Print N tables and end, if the output of --live is not a terminal
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: Option<u32>,

    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// Show the critical path of the slowest async operation or flow
///
/// The path lists what ran for the operation, on which thread, and what the
/// operation waited for: to start, to continue, for a message, or with
/// scheduling records for a processor or a thread. Where an operation waits, the path follows its
/// child that ended last. The arguments of the operations are below the path.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace critical-path trace.fxt
  trace critical-path trace.fxt -n request
  trace critical-path trace.fxt --arg path=/cart    # of the requests with this path
  trace critical-path trace.fxt --flow -c queue")]
pub(crate) struct CriticalPathArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Select the operation or flow with this id, such as 42 or 0x2a
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) id: Option<u64>,

    /// Select operations or flows by an argument of their begin or end; repeatable. A `*` at the
    /// end of VALUE matches any text
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_condition)]
    pub(crate) arg: Vec<Condition>,

    /// Show the slowest flow instead of the slowest async operation
    #[arg(long)]
    pub(crate) flow: bool,

    /// Print the path as JSON, times in nanoseconds
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}
