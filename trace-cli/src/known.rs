//! Refusing selected categories, names and arguments that an input does not have, and the kinds of
//! records that it has instead.

use std::path::Path;

use anyhow::Result;
use trace_analyze::contents;

use crate::cli::Selection;
use crate::input::{self, Spill};
use crate::message::HINT;
use crate::unmatched;
use crate::unreadable::explained;

/// Fails if the input has no event of a selected category or name. `found` has the categories and
/// names that the caller knows: the input is read if one of the selected is not among them.
pub(crate) fn refuse_unknown<'a>(
    path: &Path,
    input: &Spill<'_>,
    selection: &Selection,
    found: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Result<()> {
    if unmatched::is_none(selection, found) {
        return Ok(());
    }
    let catalog = explained(path, contents::labels(input.open()?))?;
    unmatched::refuse(selection, catalog.label_texts())
}

/// Returns a hint how to see the records of an input without durations and operations, or an empty
/// text if it has none or is a pipe.
pub(crate) fn hint_to_others(path: &Path) -> Result<String> {
    if !input::is_file(path) {
        return Ok(String::new());
    }
    let kinds = explained(path, contents::read(Spill::of_known_file(path).open()?))?.kinds;
    let others = [
        (kinds.samples, "trace flamegraph --samples draws its samples of call stacks"),
        (kinds.counters, "trace stats --counters shows its counters"),
        (kinds.instants, "trace stats --instants shows its instants"),
        (kinds.flows, "trace stats --flows shows its flows"),
        (kinds.logs, "trace dump shows its log records"),
        (kinds.switches, "trace stats --sched shows the states of its threads"),
    ];
    let hints = others.iter().filter(|(number, _)| *number > 0);
    Ok(hints.map(|(_, hint)| format!("{HINT}{hint}")).collect())
}

/// Fails if no event of the input has the argument `key`. Also if there are too many arguments to
/// know, it returns success.
pub(crate) fn refuse_unknown_argument(path: &Path, input: &Spill<'_>, key: &str) -> Result<()> {
    let contents = explained(path, contents::read(input.open()?))?;
    let is_known = contents.arguments.keys().any(|(_, _, known)| known == key);
    match is_known || contents.left_out > 0 {
        true => Ok(()),
        false => Err(unmatched::no_argument(path, key)),
    }
}
