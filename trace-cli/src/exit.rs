//! Exit codes.
//!
//! `trace record` with a command returns the command's status. Codes from 125
//! on are about running the command, as in `env` and `timeout`.

/// Success. Also if the reader of the output closes it early.
pub(crate) const OK: u8 = 0;

/// The command failed. For `check`: the archive is malformed.
pub(crate) const FAILURE: u8 = 1;

/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;

/// The command succeeded on incomplete data. For commands that read archives: a
/// part of the archive is unreadable, it ends early, or it refers to unknown strings or threads.
/// For `check`: the archive reports missing data. For `recover`: a part of what
/// the program left is damaged. For `record --strict` and `stop --strict`: data is
/// missing, there are no events, or a selected category has none. For `diff`: no row is in both
/// archives.
pub(crate) const INCOMPLETE: u8 = 3;

/// `diff --fail-over`: a row became slower by more than that.
pub(crate) const SLOWER: u8 = 4;

/// `diff --fail-on-unclear`: a row may have become slower, and it is unclear whether it did.
pub(crate) const UNCLEAR: u8 = 5;

/// `record`: recording failed, whatever the command returned.
pub(crate) const RECORD_FAILED: u8 = 125;

/// `record`: the command was found but cannot be run.
pub(crate) const CANNOT_RUN: u8 = 126;

/// `record`: the command was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// `record`: added to the number of the signal that killed the command.
pub(crate) const SIGNALLED: u8 = 128;

/// Returns the exit code for the end of a command.
pub(crate) fn of_command(status: std::process::ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => SIGNALLED.saturating_add(signal as u8),
        (None, None) => RECORD_FAILED,
    }
}

/// The end of `trace --help`.
pub(crate) const HELP: &str = "\
Examples:
  trace record -- ./server
  trace view trace.fxt
  trace stats trace.fxt --sort p99

Defaults:
  The table [record] of ~/.config/trace/config.toml has defaults of `trace record` by the
  long names of its options, such as output = '%n-%t.fxt' or categories = ['net*'].

Inputs:
  Commands that read archives also read Chrome JSON, XRay logs, recordings of trace-cmd
  (trace.dat) and of perf record (perf.data), and the text of ftrace: trace-cmd report,
  /sys/kernel/tracing/trace and the HTML of systrace. The format is detected. All inputs may be
  compressed with gzip or zstd.

Exit status:
    0  success
    1  the command failed, or no event has a selected category, name, thread or
       argument; check: the archive is malformed
    2  the command line is wrong
    3  the data is incomplete: a part of the archive is unreadable or damaged, it
       ends early, it refers to unknown strings or threads, data is missing (check,
       record --strict, stop --strict), or no row is in both archives (diff)
    4  a row became slower (diff --fail-over)
    5  it is unclear whether a row became slower (diff --fail-on-unclear)
  record -- COMMAND returns the status of COMMAND, and:
  125  recording failed
  126  COMMAND cannot be run
  127  COMMAND was not found
 128+N COMMAND was killed by signal N

Topics:
  trace help COMMAND      a command, with examples
  trace help environment  environment variables of programs and of this command";

/// The hint if a topic of `trace help` is unknown.
pub(crate) const TOPICS: &str = "topics are environment, and the commands that trace --help lists";
