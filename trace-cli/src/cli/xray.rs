//! Arguments of the commands on XRay logs.

use std::path::{Path, PathBuf};

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
        let inputs = match self {
            Self::Account(args) => &args.inputs,
            Self::Stack(args) => &args.inputs,
            Self::Graph(args) => &args.inputs,
            Self::Map(_) => return None,
        };
        inputs.instr_map.as_deref()
    }
}

/// Print counts and times of each function, in seconds
///
/// A call without an exit ends with its caller, as with -d of llvm-xray.
#[derive(Debug, Args)]
pub(crate) struct AccountArgs {
    /// Log to read; `-` for standard input
    #[arg(value_name = "LOG")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Format of the output
    #[arg(long, value_enum, default_value_t = TableFormat::Text, value_name = "FORMAT")]
    pub(crate) format: TableFormat,

    /// Column to sort by
    #[arg(long, value_enum, default_value_t = Column::Funcid, value_name = "COLUMN")]
    pub(crate) sort: Column,

    /// Order of the rows [default: asc for funcid and func, otherwise dsc]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) sortorder: Option<Order>,

    /// Print only the first N rows [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
}

/// Print the call stacks with the largest times and counts, in ticks
#[derive(Debug, Args)]
pub(crate) struct StackArgs {
    /// Log to read; `-` for standard input
    #[arg(value_name = "LOG")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

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
    /// Log to read; `-` for standard input
    #[arg(value_name = "LOG")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Label of edges
    #[arg(long, value_enum, default_value_t = Value::None, value_name = "VALUE")]
    pub(crate) edge_label: Value,

    /// Label of functions
    #[arg(long, value_enum, default_value_t = Value::None, value_name = "VALUE")]
    pub(crate) vertex_label: Value,
}

/// Print an instrumentation map as YAML, as llvm-xray extract does
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// Program, shared library or map to read
    #[arg(value_name = "BIN")]
    pub(crate) file: PathBuf,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    Funcid,
    Count,
    Min,
    Med,
    #[value(name = "90p")]
    P90,
    #[value(name = "99p")]
    P99,
    Max,
    Sum,
    Func,
}

impl Column {
    pub(crate) fn field(self) -> Field {
        match self {
            Self::Funcid => Field::Id,
            Self::Count => Field::Count,
            Self::Min => Field::Min,
            Self::Med => Field::Median,
            Self::P90 => Field::P90,
            Self::P99 => Field::P99,
            Self::Max => Field::Max,
            Self::Sum => Field::Sum,
            Self::Func => Field::Name,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Value {
    None,
    Count,
    Min,
    Med,
    #[value(name = "90p")]
    P90,
    #[value(name = "99p")]
    P99,
    Max,
    Sum,
}

impl Value {
    pub(crate) fn label(self) -> Label {
        match self {
            Self::None => Label::None,
            Self::Count => Label::Count,
            Self::Min => Label::Min,
            Self::Med => Label::Median,
            Self::P90 => Label::P90,
            Self::P99 => Label::P99,
            Self::Max => Label::Max,
            Self::Sum => Label::Sum,
        }
    }
}
