//! Options that select events, and options of inputs.

use std::path::PathBuf;

use anyhow::{ensure, Result};
use clap::Args;
use trace_protocol::categories::CategorySet;

use super::CATEGORIES;
use crate::args::{parse_category, parse_moment, Moment, Span};
use crate::names::{parse_names, NameList, Names};

/// The options `-c`, `-n` and `-t`.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    #[arg(short, long, value_name = "LIST", help = CATEGORIES, value_delimiter = ',', allow_hyphen_values = true, value_parser = parse_category)]
    pub(crate) categories: Vec<String>,

    /// Select names, or CATEGORY:NAME as tables print it; repeatable. A `*` at the end matches any
    /// text, and a `-` at the start excludes. A backslash before a comma, `*`, `-`, blank or
    /// backslash makes it a part of the name [default: all]
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true, value_parser = parse_names)]
    pub(crate) name: Vec<NameList>,

    /// Select threads by id or name; repeatable. A `*` at the end matches any text [default: all]
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
        Filter { categories: CategorySet::new(&self.categories), names: Names::new(&self.name) }
    }
}

/// The options `--from` and `--to`.
#[derive(Debug, Args)]
pub(crate) struct TimeRange {
    /// Start of the range: 1.5s after the first event, 60% of the trace's time, or `@` and a time
    /// that `trace dump` prints, also with a distance: @12.5s+5ms [default: first event]
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) from: Option<Moment>,

    /// End of the range, in the same form [default: last event]
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) to: Option<Moment>,
}

impl TimeRange {
    /// Returns whether all times are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Returns the first time and the time after the last one, in nanoseconds.
    pub(crate) fn nanos(&self, span: Span) -> Result<(u64, Option<u64>)> {
        let nanos = |moment: Moment| moment.nanos(span);
        let from = self.from.filter(|from| !from.is_start()).map_or(0, nanos);
        let to = self.to.filter(|to| *to != Moment::END).map(nanos);
        let is_in_order = match (self.from, self.to) {
            // All times of an archive without a length are the same.
            (Some(Moment::Share(from)), Some(Moment::Share(to))) => from < to,
            _ => to.is_none_or(|to| from < to),
        };
        ensure!(is_in_order, "--from is not before --to");
        Ok((from, to))
    }
}

/// The options of all commands that read traces.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    /// Name the functions of an XRay log by this program or map [default: NAME.map beside
    /// NAME.xray]
    #[arg(short = 'm', long, alias = "instr_map", value_name = "BIN")]
    pub(crate) instr_map: Option<PathBuf>,
}

/// The selected categories and names.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) categories: CategorySet,
    pub(crate) names: Names,
}

impl Filter {
    /// Returns whether events of this category and name are selected.
    pub(crate) fn matches(&self, category: &str, name: &str) -> bool {
        self.categories.matches(category) && self.names.matches(category, name)
    }
}
