//! The command line of `trace lake`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand};

use super::amount;
use crate::memory::{mebibytes, DEFAULT_MEMORY};

/// The first argument of the program for these commands.
pub const FLAG: &str = "--lake";

/// The host or the service if nothing names it.
pub(super) const UNKNOWN: &str = "unknown";

const HELP: &str = "\
Examples:
  trace lake add traces/ app.fxt --host web-1         # a folder
  trace lake add s3://bucket/traces app.fxt.zst       # an object storage
  trace query traces/ \"SELECT day, host, count(*) FROM spans GROUP BY day, host\"
  trace lake list traces/
  trace lake check traces/
  trace lake compact traces/
  trace lake retain traces/ --older-than 30d
  trace lake report traces/ -n request -o request.html
  trace lake scheduler --bind 10.0.0.5:50050          # a cluster for trace query --cluster
  trace lake executor --scheduler 10.0.0.5:50050 --bind 10.0.0.6:50051

A store is a folder, or a URL s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or az://CONTAINER/FOLDER.
Access to object storages comes from the environment: AWS_…, GOOGLE_… or AZURE_….

Exit status:
    0  success
    1  the command failed, an archive cannot be read, or check has found a damaged file
    2  the command line is wrong
    3  an archive is incomplete: a part of it is unreadable, or it ends early";

/// Keep many archives in a store, and query them together
#[derive(Debug, Parser)]
#[command(name = "trace-query", bin_name = "trace lake", version, after_help = HELP)]
pub struct LakeCli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add archives to a store, which is created
    Add(AddArgs),
    /// List what a store has
    List(ListArgs),
    /// Read all files of a store, and list those that are damaged
    Check(CheckArgs),
    /// Write many small files as few large ones
    Compact(CompactArgs),
    /// Remove old archives
    Retain(RetainArgs),
    /// Show durations by day, version and host, and what became slower, as a web page
    Report(ReportArgs),
    /// Run the scheduler of a cluster for `trace query --cluster`
    Scheduler(SchedulerArgs),
    /// Run an executor of a cluster
    Executor(ExecutorArgs),
}

/// Arguments of `trace lake add`.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct AddArgs {
    /// Folder or URL
    #[arg(value_name = "STORE")]
    pub store: String,

    /// Archives of any format that `trace` reads, compressed or not; `-` for standard input
    #[arg(value_name = "ARCHIVE", required = true)]
    pub archives: Vec<PathBuf>,

    /// Name the host of the archives
    #[arg(long, value_name = "NAME", default_value = UNKNOWN, value_parser = NonEmptyStringValueParser::new())]
    pub host: String,

    /// Name the service of the archives [default: the name of the recorded program]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub service: Option<String>,

    /// Name the version of the program [default: the build id of the program]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub version: Option<String>,

    /// Set the time of the first record, such as 2026-11-29T10:00:00Z [default: that of the
    /// archive, else by the file's last change]
    #[arg(long, value_name = "TIME", value_parser = amount::time)]
    pub time: Option<i64>,

    /// Memory of sorts in MiB; beyond it they use temporary files
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY >> 20, value_parser = mebibytes)]
    pub memory: usize,

    /// Name the functions of XRay logs by this program or map
    #[arg(long, value_name = "BIN")]
    pub instr_map: Option<PathBuf>,
}

/// Arguments of `trace lake list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Folder or URL
    #[arg(value_name = "STORE")]
    pub store: String,

    /// List archives [default: days, hosts and services]
    #[arg(long)]
    pub archives: bool,

    /// Print the paths of the Parquet files that queries read
    #[arg(long, conflicts_with = "archives")]
    pub files: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace lake check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Folder or URL
    #[arg(value_name = "STORE")]
    pub store: String,
}

/// Arguments of `trace lake compact`.
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// Folder or URL
    #[arg(value_name = "STORE")]
    pub store: String,

    /// Write files of up to this many MiB, and keep those of at least half of it
    #[arg(long, value_name = "MIB", default_value_t = 128)]
    pub file_size: u64,

    /// Delete replaced files after this time, during which queries can read them
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = amount::duration)]
    pub delete_after: Duration,

    /// Memory of sorts in MiB; beyond it they use temporary files
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY >> 20, value_parser = mebibytes)]
    pub memory: usize,
}

/// Arguments of `trace lake retain`.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Limits {
    /// Remove archives that ended before this time, such as 30d
    #[arg(long, value_name = "TIME", value_parser = amount::duration)]
    pub older_than: Option<Duration>,

    /// Remove the oldest archives until the files have at most this size, such as 500G
    #[arg(long, value_name = "BYTES", value_parser = amount::bytes)]
    pub keep_bytes: Option<u64>,
}

/// Arguments of `trace lake retain`.
#[derive(Debug, Args)]
pub struct RetainArgs {
    /// Folder or URL
    #[arg(value_name = "STORE")]
    pub store: String,

    /// What is removed.
    #[command(flatten)]
    pub limits: Limits,

    /// Delete removed files after this time, during which queries can read them
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = amount::duration)]
    pub delete_after: Duration,
}

/// Arguments of `trace lake report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder or URL
    #[arg(value_name = "STORE")]
    pub store: String,

    /// Show spans and operations of this name [default: the 30 with the most time]
    #[arg(short, long, value_name = "NAME")]
    pub name: Option<String>,

    /// Show this service [default: all, each with its versions]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,

    /// Write the page to this file
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,

    /// Memory of groups and joins in MiB; beyond it they use temporary files
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY >> 20, value_parser = mebibytes)]
    pub memory: usize,
}

/// Arguments of `trace lake scheduler`.
#[derive(Debug, Args)]
pub struct SchedulerArgs {
    /// Listen on this address. Whoever can connect can run queries
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    pub bind: String,

    /// Give the tasks of an executor that was silent for this time to others; at least 15s
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = amount::duration)]
    pub executor_timeout: Duration,

    /// Print what the scheduler does
    #[arg(short, long)]
    pub verbose: bool,
}

/// Arguments of `trace lake executor`.
#[derive(Debug, Args)]
pub struct ExecutorArgs {
    /// Address of the scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    pub scheduler: String,

    /// Listen on this address for executors and clients that read rows. Whoever can connect can
    /// read them
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:50051")]
    pub bind: String,

    /// Name by which they reach this executor [default: its address as the scheduler sees it]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Run this many tasks at once [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub tasks: Option<u16>,

    /// Memory of sorts, joins and groups in MiB, divided among the tasks; beyond it they use
    /// temporary files
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY >> 20, value_parser = mebibytes)]
    pub memory: usize,

    /// Folder for rows that other executors read and for temporary files [default: a new one in
    /// TMPDIR, which is removed]
    #[arg(long, value_name = "FOLDER")]
    pub work_dir: Option<PathBuf>,

    /// Print what the executor does
    #[arg(short, long)]
    pub verbose: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        LakeCli::command().debug_assert();
    }
}
