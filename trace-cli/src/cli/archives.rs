//! Archives into others, other formats, and text.

use std::path::PathBuf;

use clap::Args;

use crate::args::{parse_category, parse_moment, Format, Moment};

/// Convert an archive to Chrome JSON and other formats, or other formats to an
/// archive
///
/// The format of the input is detected: an archive, Chrome JSON, or the text of
/// ftrace. JSON that is converted to an archive and back loses nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The output gets its name when it is complete, and not before. If it ends in
.gz or .zst it is compressed.

Examples:
  trace convert trace.fxt -o trace.json.gz
  trace convert trace.fxt -o trace.pftrace    (for Perfetto, more than it shows of .fxt)
  trace convert trace.fxt -o trace.folded     (also .speedscope.json and .csv)
  trace convert chrome.json -o chrome.fxt
  trace-cmd report | trace convert - -o kernel.pftrace
  trace convert - -o - < trace.fxt.zst | less")]
pub(crate) struct ConvertArgs {
    /// The archive, JSON or ftrace text; `-` for standard input
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
/// malformed, 3 if it is well-formed and data is missing.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The archive; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Cut a part out of an archive
///
/// What is in the time and passes all filters stays, with what it takes to
/// understand it. Durations and async operations that reach into the time stay
/// whole: `trace stats` of a slice counts them with their whole length, and for
/// SELF what is in them and left out counts as theirs. Of flows only the events
/// in the time stay.
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
