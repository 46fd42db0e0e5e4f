//! Arguments of `trace query` and `trace lake`, which another program reads.

use std::ffi::OsString;

use clap::Args;

/// Query a trace in SQL; the program trace-query does it
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_long_help = "\
Examples:
  trace query app.fxt \"SELECT name, count(*), sum(dur_ns) FROM spans GROUP BY name\"
  trace query app.fxt @slowest-requests
  trace query app.fxt                          # a shell
  trace query --help

trace-query is a program of its own, beside this one or in a directory of PATH. From a checkout:
  cargo install --path trace-lake"
)]
pub(crate) struct QueryArgs {
    /// Archive, query and options of trace-query
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

/// Keep many archives in a store and query them together; the program trace-query does it
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_long_help = "\
Examples:
  trace lake add traces/ app.fxt --host web-1
  trace lake list traces/
  trace query traces/ \"SELECT day, host, count(*) FROM spans GROUP BY day, host\"
  trace lake --help

trace-query is a program of its own, beside this one or in a directory of PATH. From a checkout:
  cargo install --path trace-lake"
)]
pub(crate) struct LakeArgs {
    /// Command and options of trace-query
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}
