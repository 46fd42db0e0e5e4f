//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::memory::{mebibytes, DEFAULT_MEMORY};

const HELP: &str = "\
Examples:
  trace query app.fxt \"SELECT name, count(*), sum(dur_ns) FROM spans GROUP BY name\"
  trace query app.fxt @slowest-spans
  trace query app.fxt -f report.sql --format csv -o report.csv
  trace query app.fxt --export tables/
  trace query app.fxt --otlp app.otlp
  trace query app.fxt
  trace query s3://bucket/traces \"SELECT day, host, count(*) FROM spans GROUP BY day, host\"
  trace query s3://bucket/traces --cluster 10.0.0.5:50050 @hottest

Without a query, a terminal gets a shell with history and completion; else the query is read
from standard input. `.tables`, `.schema`, `.functions` and `.queries` list what can be asked.

Exit status:
    0  success
    1  the query failed, or the archive cannot be read
    2  the command line is wrong
    3  the data is incomplete: a part of the archive is unreadable, or it ends early";

/// Query a trace in SQL
#[derive(Debug, Parser)]
#[command(name = "trace-query", bin_name = "trace query", version, after_long_help = HELP)]
pub struct Cli {
    /// Archive of any format that `trace` reads, compressed or not, or a store of `trace lake`; `-`
    /// for standard input
    #[arg(value_name = "ARCHIVE", required_unless_present = "list")]
    pub archive: Option<PathBuf>,

    /// Statements in SQL, or a ready query such as @slowest-spans
    #[arg(value_name = "SQL", conflicts_with_all = ["file", "export"])]
    pub sql: Option<String>,

    /// Read the statements from a file, `-` for standard input
    #[arg(short, long, value_name = "FILE.sql", conflicts_with = "export")]
    pub file: Option<PathBuf>,

    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Write the result of one statement to a file; with --format parquet it is required [default:
    /// standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write all tables as Parquet files to a folder, sorted by time
    #[arg(long, visible_alias = "parquet", value_name = "FOLDER", conflicts_with = "output")]
    pub export: Option<PathBuf>,

    /// Write spans and operations that have trace ids to a file for OpenTelemetry (OTLP)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sql", "file", "export", "output", "cluster"])]
    pub otlp: Option<PathBuf>,

    /// List the ready queries
    #[arg(long)]
    pub list: bool,

    /// Memory of sorts, joins and groups in MiB; beyond it they use temporary files
    #[arg(long, value_name = "MIB", default_value_t = DEFAULT_MEMORY >> 20, value_parser = mebibytes)]
    pub memory: usize,

    /// Run the queries of a store on the cluster of this scheduler
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "export")]
    pub cluster: Option<String>,

    /// Name the functions of XRay logs by this program or map
    #[arg(long, value_name = "BIN")]
    pub instr_map: Option<PathBuf>,
}

/// A format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns
    Table,
    /// Comma-separated values with a header
    Csv,
    /// An array of objects
    Json,
    /// Arrow's IPC stream
    Arrow,
    /// A Parquet file, compressed with zstd
    Parquet,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
