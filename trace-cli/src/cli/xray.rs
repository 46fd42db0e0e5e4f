//! Arguments of the commands on XRay logs.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use trace_xray::report::{Field, Label};

use super::Inputs;

/// Report on the calls of an XRay log, as llvm-xray does
///
/// All other commands that read archives read XRay logs, too.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  trace xray account app.xray --instr-map ./app --sort sum --top 10
  trace xray stack app.xray                     # app.map beside it has the names
  trace xray graph app.xray --edge-label count | dot -Tsvg -o graph.svg
  trace xray map ./app")]
pub(crate) struct XrayArgs {
    #[command(subcommand)]
    pub(crate) command: XrayCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum XrayCommand {
    Account(AccountArgs),
    Stack(StackArgs),
    Graph(GraphArgs),
    Map(MapArgs),
}

impl XrayCommand {
    /// Returns the program or map that names the functions.
    pub(super) fn instr_map(&self) -> Option<&Path> {
        let log = match self {
            Self::Account(args) => &args.log,
            Self::Stack(args) => &args.log,
            Self::Graph(args) => &args.log,
            Self::Map(_) => return None,
        };
        log.inputs.instr_map.as_deref()
    }
}

/// The log of a report.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Log to read; `-` for standard input
    #[arg(value_name = "LOG")]
    pub(crate) file: PathBuf,

    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,
}

/// Print counts and times of each function, in seconds
///
/// A call without an exit ends with its caller, as with -d of llvm-xray.
#[derive(Debug, Args)]
pub(crate) struct AccountArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Count only calls of functions that call themselves, directly or not
    #[arg(long)]
    pub(crate) recursive_calls_only: bool,

    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = TableFormat::Text, value_name = "FORMAT")]
    pub(crate) format: TableFormat,

    /// Column to sort by
    #[arg(short, long, default_value = Field::Id.name(), value_name = "COLUMN", value_parser = named(Field::ALL, Field::name))]
    pub(crate) sort: Field,

    /// Order of the rows [default: asc for funcid and func, otherwise dsc; of llvm-xray: asc]
    #[arg(short = 'r', long, value_enum, value_name = "ORDER")]
    pub(crate) sortorder: Option<Order>,

    /// Print only the first N rows [default: all]
    #[arg(short = 'p', long, value_name = "N")]
    pub(crate) top: Option<usize>,
}

/// Print the call stacks with the largest times and counts, in ticks
#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Print all stacks, one a line, for the tools of flame graphs
    #[arg(long)]
    pub(crate) all_stacks: bool,

    /// Value of each line of --all-stacks
    #[arg(long, value_enum, default_value_t = Aggregation::Time, value_name = "VALUE", requires = "all_stacks")]
    pub(crate) aggregation_type: Aggregation,

    /// Report each thread
    #[arg(long, conflicts_with_all = ["all_stacks", "aggregate_threads"])]
    pub(crate) per_thread_stacks: bool,

    /// Add the stacks of all threads
    #[arg(long)]
    pub(crate) aggregate_threads: bool,
}

/// Print the graph of callers and callees in the language of Graphviz
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// Label of edges
    #[arg(short, long, default_value = Label::None.name(), value_name = "VALUE", value_parser = named(Label::ALL, Label::name))]
    pub(crate) edge_label: Label,

    /// Label of functions
    #[arg(long, default_value = Label::None.name(), value_name = "VALUE", value_parser = named(Label::ALL, Label::name))]
    pub(crate) vertex_label: Label,
}

/// Print an instrumentation map as YAML, as llvm-xray extract does
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// Program, shared library or map to read
    #[arg(value_name = "BIN")]
    pub(crate) file: PathBuf,

    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Text,
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    Asc,
    Dsc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Aggregation {
    Time,
    Count,
}

/// Returns the parser of a value of an enumeration that `trace-xray` names.
fn named<T: Copy + Send + Sync>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.iter().map(|value| name(*value)));
    names.try_map(move |text| {
        let value = all.iter().copied().find(|value| name(*value) == text);
        value.ok_or_else(|| format!("'{text}' is unknown"))
    })
}
