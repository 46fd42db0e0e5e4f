//! The error if no operation or flow is selected.

use anyhow::{anyhow, Result};
use trace_analyze::stats::{self, Grouping, Row};
use trace_convert::visible;

use crate::cli::CriticalPathArgs;
use crate::input::Spill;
use crate::message::{counted, HINT};
use crate::names::escaped;
use crate::unreadable::explained;

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
    let is_all = args.selection.is_all() && args.id.is_none() && args.arg.is_empty();
    let longest = report.durations.iter().filter(is_selected).max_by_key(|row| row.lengths.sum());
    let stats = stats_command(longest.filter(|_| !is_all));
    let alternatives = [other, ("duration", count(&report.durations), &*stats)];
    let alternatives = alternatives.iter().filter(|(_, number, _): &&(_, u64, _)| *number > 0);
    let alternatives: Vec<String> = alternatives
        .map(|(kind, number, way)| {
            format!("{} ({way})", counted(*number, kind, &format!("{kind}s")))
        })
        .collect();
    let selected = if is_all { "" } else { "selected " };
    let hint = match args.id.is_some() || !args.arg.is_empty() || alternatives.is_empty() {
        true => String::new(),
        false => format!("{HINT}it has {}", alternatives.join(", ")),
    };
    Ok(anyhow!("{} has no complete {selected}{what}{hint}", args.file.display()))
}

/// Returns the command that shows the states of a thread during its durations, of a name if there
/// is one.
fn stats_command(row: Option<&Row>) -> String {
    let name = row.map(|row| format!(" -n {}", shell_word(&escaped(&row.name))));
    format!("trace stats --slowest 5{}", name.unwrap_or_default())
}

/// Returns a text as a word of a shell's command, escaped for a terminal.
fn shell_word(text: &str) -> String {
    let text = visible(text);
    let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | ':' | '.' | '/');
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
