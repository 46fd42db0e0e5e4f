//! What archives say.

use std::path::PathBuf;

use clap::Args;

use crate::args::{parse_category, parse_id, parse_share, GroupBy, SortBy};

/// Tell how often things happened, how long they took, and how that is spread
///
/// There is a row for each category and name: first of durations, then of
/// async operations. SELF is the time that no inner duration takes, ON-CPU the
/// time on a processor, where the archive has scheduling records. Percentiles
/// are exact up to 2048 values in a row, and beyond that within 0.2 %. What is
/// missing in the archive is said on standard error.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace stats trace.fxt
  trace stats trace.fxt --sort p99 --limit 10
  trace stats trace.fxt --by thread -c 'net*,-net.dns'
  trace stats trace.fxt --flows                   (from a flow's begin to its end)
  trace stats trace.fxt --json | jq '.durations[] | select(.p99_ns > 1e6).name'")]
pub(crate) struct StatsArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// A row for each process or thread
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<GroupBy>,

    /// The values of counters instead
    #[arg(long, conflicts_with_all = ["flows", "instants"])]
    pub(crate) counters: bool,

    /// Flows instead: how long from begin to end
    #[arg(long, conflicts_with = "instants")]
    pub(crate) flows: bool,

    /// Instants instead: how many there are
    #[arg(long)]
    pub(crate) instants: bool,

    /// Only these categories: names, `prefix*`, and `-name` or `-prefix*` to
    /// leave out
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// What comes first: the largest of this, or names from A
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = SortBy::Total)]
    pub(crate) sort: SortBy,

    /// No more rows than this of each kind
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Print all kinds as JSON; times are in nanoseconds
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,

    /// Print comma-separated values with a heading; times are in nanoseconds
    #[arg(long)]
    pub(crate) csv: bool,
}

/// Tell what became slower or faster from one archive to another
///
/// Durations, async operations and flows of the same category and name are
/// compared by their middle lengths. What is shown is beyond chance, corrected for
/// the number of rows, and changed by more than the threshold. What is alike would
/// have been seen with such a change; what is unclear would not: it is too rare,
/// too short, or too different each time. What costs most time comes first.
///
/// Of one archive a side, stretches of time are compared, since lengths that
/// follow one another hang together; what the machine did all through one run
/// looks like the program's doing. Several archives a side tell the two apart:
/// five or more, recorded in turns.
#[derive(Debug, Args)]
#[command(after_long_help = "\
P50 is the middle length; the change is that of the middle lengths.

Exits with 4 if --fail-over is given and something is slower by more than that,
and with 3 if nothing is in both, so that nothing was compared.

Examples:
  trace diff before.fxt after.fxt
  trace diff main.fxt.zst branch.fxt.zst --fail-over 5% -c 'server*'
  trace diff --before main-*.fxt --after branch-*.fxt --fail-over 5%")]
pub(crate) struct DiffArgs {
    /// The archives of before and after; `-` for standard input
    #[arg(num_args = 2, value_names = ["A", "B"], required_unless_present = "before", conflicts_with = "before")]
    pub(crate) files: Vec<PathBuf>,

    /// Several archives of before, at least 3, each a run of its own
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "after")]
    pub(crate) before: Vec<PathBuf>,

    /// Several archives of after
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "before")]
    pub(crate) after: Vec<PathBuf>,

    /// The smallest change that is shown, at most that of --fail-over
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = parse_share)]
    pub(crate) threshold: f64,

    /// How probable it may be that what is shown is chance
    #[arg(long, value_name = "PERCENT", default_value = "0.1%", value_parser = parse_share)]
    pub(crate) significance: f64,

    /// Exit with 4 if something is slower by more than this
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub(crate) fail_over: Option<f64>,

    /// Show also what is alike, unclear, new, or gone
    #[arg(long)]
    pub(crate) all: bool,

    /// Only these categories: names, `prefix*`, and `-name` or `-prefix*` to
    /// leave out
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// Print all rows as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell what the slowest async operation or flow spent its time on
///
/// Follows its critical path: what ran for it, on which thread, and what it
/// waited for. For an operation that is, where it waited, the operation that it
/// has made and that was over last.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace top trace.fxt
  trace top trace.fxt -n request
  trace top trace.fxt --flow -c queue")]
pub(crate) struct TopArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The slowest flow, not async operation
    #[arg(long)]
    pub(crate) flow: bool,

    /// The slowest of these categories: names, `prefix*`, and `-name` or
    /// `-prefix*` to leave out
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// The slowest of these names, given in the same way
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) name: Vec<String>,

    /// The one with this id
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) id: Option<u64>,

    /// Print the path as JSON; times are in nanoseconds
    #[arg(long)]
    pub(crate) json: bool,
}
