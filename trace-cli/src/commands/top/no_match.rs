//! What to say if nothing came into question.

use anyhow::{anyhow, Result};
use trace_analyze::stats::{self, Grouping, Row};
use trace_protocol::categories::CategorySet;

use crate::cli::TopArgs;
use crate::damage::explained;
use crate::input::Spill;
use crate::unmatched;

/// Says that there is none, and of what else there is some, with the way to it.
pub(super) fn error(args: &TopArgs, input: &Spill<'_>) -> Result<anyhow::Error> {
    let report = explained(&args.file, stats::collect(input.open()?, Grouping::Together, None))?;
    let (categories, names) = (CategorySet::new(&args.categories), CategorySet::new(&args.name));
    unmatched::tell(&categories, &report.categories);
    let is_meant = |row: &&Row| categories.matches(&row.category) && names.matches(&row.name);
    let number = |rows: &[Row]| rows.iter().filter(is_meant).map(|row| row.lengths.count()).sum();
    let (what, other) = match args.flow {
        true => ("flow", ("async operations", number(&report.operations), "without --flow")),
        false => ("async operation", ("flows", number(&report.flows), "--flow")),
    };
    let others = [other, ("durations", number(&report.durations), "trace stats")];
    let others = others.iter().filter(|(_, number, _): &&(_, u64, _)| *number > 0);
    let others: Vec<String> =
        others.map(|(kind, number, way)| format!("{number} {kind} ({way})")).collect();
    let is_all = args.categories.is_empty() && args.name.is_empty();
    let of_kind = if is_all && args.id.is_none() { "" } else { " of that kind" };
    let instead = match args.id.is_some() || others.is_empty() {
        true => String::new(),
        false => {
            format!("; {}it has {}", if is_all { "" } else { "of that kind " }, others.join(", "))
        }
    };
    let file = args.file.display();
    Ok(anyhow!("'{file}' has no {what}{of_kind} with begin and end{instead}"))
}
