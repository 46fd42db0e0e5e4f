//! Options that select events, and options of inputs.

use std::path::PathBuf;

use clap::Args;
use trace_protocol::categories::CategorySet;

use super::CATEGORIES;
use crate::args::parse_category;

/// The options `-c`, `-n` and `-t`.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    #[arg(short, long, value_name = "LIST", help = CATEGORIES, value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// Select names, as -c selects categories [default: all]
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) name: Vec<String>,

    /// Select a thread by id or name; repeatable [default: all]
    #[arg(short, long, value_name = "THREAD")]
    pub(crate) thread: Vec<String>,
}

impl Selection {
    /// Returns whether all events are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.categories.is_empty() && self.name.is_empty() && self.thread.is_empty()
    }

    /// Returns the selected categories and names.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            categories: CategorySet::new(&self.categories),
            names: CategorySet::new(&self.name),
        }
    }
}

/// The options of all commands that read traces.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    /// Name the functions of an XRay log by this program or map [default: NAME.map beside
    /// NAME.xray]
    #[arg(long, value_name = "BIN")]
    pub(crate) instr_map: Option<PathBuf>,
}

/// The selected categories and names.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) categories: CategorySet,
    pub(crate) names: CategorySet,
}

impl Filter {
    /// Returns whether events of this category and name are selected.
    pub(crate) fn matches(&self, category: &str, name: &str) -> bool {
        self.categories.matches(category) && self.names.matches(name)
    }
}
