//! Arguments of the commands that record and recover.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::args::{parse_category, parse_duration, parse_size, parse_trigger, Mode, Trigger};

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

/// Recover the archive of a killed program that traced itself
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  TRACE_OUTPUT=app.fxt ./app; trace recover app.fxt")]
pub(crate) struct RecoverArgs {
    /// File that TRACE_OUTPUT named
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Complete the archive of a killed `record`; standard input is a socket
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// Directory of the session's socket, to be removed
    #[arg(value_name = "DIR")]
    pub(crate) private: Option<PathBuf>,
}
