//! The error if no operation or flow is selected.

use anyhow::{anyhow, Result};
use trace_analyze::stats::{self, Grouping, Row};

use crate::cli::CriticalPathArgs;
use crate::damage::explained;
use crate::input::Spill;
use crate::message::{counted, HINT};

/// Returns the error, with a hint about other kinds that the archive has.
pub(super) fn error(args: &CriticalPathArgs, input: &Spill<'_>) -> Result<anyhow::Error> {
    let report = explained(&args.file, stats::collect(input.open()?, Grouping::Together, None))?;
    let filter = args.selection.filter();
    let is_selected = |row: &&Row| filter.matches(&row.category, &row.name);
    let count = |rows: &[Row]| rows.iter().filter(is_selected).map(|row| row.lengths.count()).sum();
    let (what, other) = match args.flow {
        true => ("flow", ("async operation", count(&report.operations), "without --flow")),
        false => ("async operation", ("flow", count(&report.flows), "--flow")),
    };
    let alternatives = [other, ("duration", count(&report.durations), "trace stats")];
    let alternatives = alternatives.iter().filter(|(_, number, _): &&(_, u64, _)| *number > 0);
    let alternatives: Vec<String> = alternatives
        .map(|(kind, number, way)| {
            format!("{} ({way})", counted(*number, kind, &format!("{kind}s")))
        })
        .collect();
    let is_all = args.selection.is_all() && args.id.is_none() && args.arg.is_empty();
    let selected = if is_all { "" } else { "selected " };
    let hint = match args.id.is_some() || !args.arg.is_empty() || alternatives.is_empty() {
        true => String::new(),
        false => format!("{HINT}it has {}", alternatives.join(", ")),
    };
    Ok(anyhow!("{} has no complete {selected}{what}{hint}", args.file.display()))
}
