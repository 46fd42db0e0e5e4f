//! Exit codes.
//!
//! All that the command itself returns is here. `trace record` with a command
//! to run returns that command's status; 125 and above then are about running
//! it, as with `env` and `timeout`.

/// All is well. Also when the reader of the output has seen enough.
pub(crate) const OK: u8 = 0;

/// The command could not do what it is for. For `check`: the archive is not
/// well-formed.
pub(crate) const FAILURE: u8 = 1;

/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;

/// It is done, but not all is there. For commands that read archives: a part of
/// the archive could not be read, or it refers to strings or threads that are
/// not there. For `check`: the archive reports that data is missing. For `recover`: a part of
/// what the program left is damaged. For `record --strict`: data is missing, there are no events,
/// or a chosen category has none. For `diff`: nothing is in both, to compare.
pub(crate) const INCOMPLETE: u8 = 3;

/// `diff --fail-over`: something became slower by more than that.
pub(crate) const SLOWER: u8 = 4;

/// `record`: recording itself failed, whatever became of the command.
pub(crate) const RECORD_FAILED: u8 = 125;

/// `record`: the command was found and could not be run.
pub(crate) const CANNOT_RUN: u8 = 126;

/// `record`: the command was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// `record`: added to the number of the signal that ended the command.
pub(crate) const SIGNALLED: u8 = 128;

/// The same for `trace --help`.
pub(crate) const HELP: &str = "\
Inputs:
  Commands that read archives (.fxt) also read Chrome JSON and the text of ftrace:
  trace-cmd report, /sys/kernel/tracing/trace and the HTML of systrace. The format is
  detected. All inputs may be compressed with gzip or zstd.

Exit status:
    0  all is well
    1  the command could not do its work; check: the archive is malformed
    2  the command line is wrong
    3  done, but not all is there: a part of the archive could not be read (recover: of what
       the program left), it refers to what is not there, or data is missing (check,
       record --strict),
       or there is nothing to compare (diff)
    4  something became slower (diff --fail-over)
  record -- COMMAND returns the status of COMMAND, and:
  125  recording failed
  126  COMMAND could not be run
  127  COMMAND was not found
 128+N COMMAND was ended by signal N";
