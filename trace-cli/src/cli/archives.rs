//! Arguments of the commands that convert, print, check and cut archives.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trace_analyze::arguments::Condition;
use trace_xray::layout::Version;

use super::{Inputs, Selection, TimeRange};
use crate::args::{parse_condition, parse_id, parse_log_version, parse_time, Format, Level};

/// Convert between archives, Chrome JSON and other formats
///
/// The format of the input is detected by its content: an archive, Chrome JSON, the text of
/// ftrace, a recording of trace-cmd or perf, or an XRay log or its YAML. JSON that is converted to
/// an archive and back keeps all data.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A complete output appears under its name, an incomplete one never does. Perfetto's format is
an output only.

The message at the end has the number of entries: in Perfetto's format a duration has two, its
begin and its end, and JSON also has entries for names. CSV has a row for each event.

Examples:
  trace convert trace.fxt -o trace.json.gz      # Chrome JSON, compressed
  trace convert trace.fxt -o trace.pftrace      # Perfetto, with what it leaves out of .fxt
  trace convert trace.fxt -o trace.folded       # stacks; also .speedscope.json
  trace convert trace.fxt -o trace.csv -n query # a line for each event, with arguments
  trace convert trace.fxt --samples -n request -o request.folded  # sampled stacks
  trace convert chrome.json -o chrome.fxt
  trace convert trace.dat -o kernel.pftrace     # a recording of trace-cmd
  trace convert perf.data --samples -o perf.folded  # the stacks of perf record
  trace convert trace.fxt -o trace.xray         # for llvm-xray, with trace.map
  trace convert app.xray -o app.yaml            # each record as text
  trace convert trace.fxt -o trace.parquet      # tables for DuckDB and others, with trace-query
  trace convert - -o - < trace.fxt.zst | less")]
pub(crate) struct ConvertArgs {
    /// Archive, JSON, ftrace text, trace.dat, perf.data or XRay log to read; `-` for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,

    /// File to write: .json, .fxt, .pftrace, .folded, .speedscope.json, .csv, .xray or .yaml,
    /// compressed if .gz or .zst follows; or folder to write, .parquet. Replaces existing files;
    /// `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Format to write [default: by the name of OUT]
    #[arg(long, alias = "format", value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,

    /// Version of a .xray log or of its YAML, 1 to 5 [default: 5, of YAML 1]
    #[arg(long, value_name = "VERSION", value_parser = parse_log_version)]
    pub(crate) log_version: Option<Version>,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Write the stacks of samples, for .folded; with -c or -n, of those that lie in a
    /// selected duration of their thread
    #[arg(long)]
    pub(crate) samples: bool,

    /// With --samples, only those within durations that last longer, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "samples")]
    pub(crate) over: Option<Duration>,

    /// Skip malformed JSON, and report how much was skipped
    #[arg(long, conflicts_with_all = ["categories", "name", "thread"])]
    pub(crate) lenient: bool,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Print one line for each record
///
/// Lines are in the order of the archive, not of time: threads write into
/// buffers of their own. Columns: offset in bytes, provider, record type, process/thread, time in
/// seconds, contents. --from and --to select records by their time, and complete
/// durations that overlap the range.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace dump trace.fxt | less
  trace dump trace.fxt --arg path=/cart
  trace dump trace.fxt --level warn         # messages of tracing and log
  trace stats trace.fxt --at @76130.775011s # what ran at the time of a line
  trace dump trace.fxt --from @76130.77s --to @76130.78s
  trace dump trace.fxt --id 0x4c7eae97901e0414")]
pub(crate) struct DumpArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) range: TimeRange,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Print only events and log records of this level, or of a more severe one
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) level: Option<Level>,

    /// Print only the events of the operation or flow with this id, such as 42 or 0x2a, with its
    /// polls, and the begins of its children
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) id: Option<u64>,

    /// Print only events with this value of an argument; repeatable. A `*` at the end of VALUE
    /// matches any text
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_condition)]
    pub(crate) arg: Vec<Condition>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// The archive of a report, and its form.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// List the kinds of records, categories, names, arguments and threads of an archive
///
/// Categories, names, arguments and threads are the values of the options -c, -n, -t and `--by
/// arg:` of the other commands.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  trace info trace.fxt")]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Verify an archive and report missing data
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit status:
    0  the archive is well-formed and complete
    1  the archive is malformed
    3  the archive is well-formed, but data is missing

Records are all parts of the archive, also strings and names; events are those of
programs with a category, a name and a time. A begin and its end are two events.
Missing context switches are reported, but do not change the status: some kernels of
virtual machines write none from the idle thread. Dropped ones are missing data.

Example:
  trace check trace.fxt")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Extract a part of an archive
///
/// Keeps the events in the time range that pass all filters, and the records
/// that they refer to. Durations and async operations that overlap the range
/// are kept whole, so `trace stats` of a slice counts their full length, and
/// counts dropped inner durations as SELF; --clip cuts them at the borders. Of
/// flows, only events in the range are kept. If the range is not the whole trace, a
/// message has its times, counted from the first event, and how many durations
/// and operations overlap its borders.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace slice trace.fxt --from 1.5s --to 2s -o short.fxt
  trace slice trace.fxt --from 1.5s --to 2s --clip -o short.fxt # only what is in the range
  trace slice trace.fxt --process server -c 'net*' -o net.fxt.zst
  trace slice trace.fxt --id 0x4c7eae97901e0414 -o request.fxt  # of trace stats --slowest
  trace slice trace.fxt --id 0x4c7eae97901e0414 --around 1ms -o all.fxt # what else happened
  trace slice - --from @12345.6s -o - < trace.fxt")]
pub(crate) struct SliceArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Archive to write, which replaces an existing file; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) range: TimeRange,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Select the async operation with this id, such as 42 or 0x2a, and its children, with all
    /// events in their polls
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) id: Option<u64>,

    /// Select by time instead: all events from TIME before the operation to TIME after it
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "id", conflicts_with_all = ["from", "to"])]
    pub(crate) around: Option<Duration>,

    /// Cut durations and async operations at the borders of the range
    #[arg(long)]
    pub(crate) clip: bool,

    /// Select a process by id or name; repeatable [default: all]
    #[arg(short, long, value_name = "PROCESS")]
    pub(crate) process: Vec<String>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Merge archives and align their clocks
///
/// Times are converted to one clock, by the clock anchors that `trace record`
/// writes. Archives of different machines are aligned by wall-clock time, and
/// their processes and threads stay separate. Flows with the same id are joined.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  trace merge client.fxt server.fxt.gz -o both.fxt")]
pub(crate) struct MergeArgs {
    /// Archives to read; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Archive to write, which replaces an existing file; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Add the names of sampled functions to an archive
///
/// The result has all records of the archive, and the names, source files and
/// lines of its sampled addresses, with inlined functions. It can be read on
/// other machines, without the programs and libraries. The names are found as
/// `trace flamegraph --samples` finds them.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Names that the archive has already are kept: run it on each machine that has some
of the files.

Examples:
  trace symbolize trace.fxt -o named.fxt.zst
  trace flamegraph named.fxt.zst --samples      # on any machine
  trace symbolize node.fxt --jit-maps /tmp -o named.fxt   # node --perf-basic-prof")]
pub(crate) struct SymbolizeArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Archive to write; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Directory of the files perf-PID.map, in which just-in-time compilers name their functions:
    /// /tmp for most. They must be those of the recorded processes
    #[arg(long, value_name = "DIR")]
    pub(crate) jit_maps: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}
