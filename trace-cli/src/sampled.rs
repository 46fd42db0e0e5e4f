//! The samples of an input, for the commands that write their stacks.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use trace_analyze::stats::Grouping;
use trace_convert::samples::Samples;
use trace_convert::Symbols;

use crate::cli::Selection;
use crate::input::{InputKind, SelectedThreads};
use crate::known::refuse_unknown;
use crate::message::HINT;
use crate::unreadable::explained;
use crate::{damage, exit, input, say};

/// Returns the hint if the callers of functions are missing.
fn dwarf_hint(path: &Path) -> String {
    let is_of_perf = input::is_file(path)
        && input::open_any(path).is_ok_and(|input| input.kind == Some(InputKind::PerfData));
    let recorder = if is_of_perf { "perf" } else { "trace" };
    format!("programs without frame pointers require {recorder} record --call-graph dwarf")
}

/// The stacks of samples.
pub(crate) struct Folded {
    /// The number of each stack's samples, or the sum of their weights.
    pub(crate) stacks: BTreeMap<String, u64>,
    /// What the numbers count.
    pub(crate) unit: &'static str,
}

/// Returns the stacks of the samples, and the exit code: with a selection of names or a length,
/// those within a duration of such a name that lasts longer. Reports what the archive lacks, and
/// the files that cannot name their functions.
pub(crate) fn folded(
    path: &Path,
    selection: &Selection,
    over: Option<Duration>,
    grouping: Grouping,
) -> Result<(Folded, u8)> {
    let (reader, code) = match selection.is_all() {
        true => (input::open(path)?, exit::OK),
        false => {
            let input = SelectedThreads::new(path, selection)?;
            refuse_unknown(path, &input.whole, selection, std::iter::empty())?;
            (input.selected().open()?, input.code)
        }
    };
    let filter = selection.filter();
    let is_over = |nanos: u64| over.is_none_or(|over| u128::from(nanos) > over.as_nanos());
    let select =
        |category: &str, name: &str, nanos| is_over(nanos) && filter.matches(category, name);
    let has_names = !selection.categories.is_empty() || !selection.name.is_empty();
    let is_within = has_names || over.is_some();
    let read = match is_within {
        true => Samples::read(reader, Some(&select)),
        false => Samples::read(reader, None),
    };
    let mut samples = explained(path, read)?;
    let code = code.max(damage::warn(path, &samples.damage));
    let unit = if samples.are_weighted() { "events" } else { "samples" };
    let folded = Folded { stacks: samples.folded(grouping), unit };
    report_lacks(path, &samples.symbols, samples.omitted_mappings());
    if samples.lack_callers() {
        say(&format!("most stacks have one frame or two{HINT}{}", dwarf_hint(path)));
    }
    Ok((folded, code))
}

/// Reports the files that cannot name their functions, and what exceeds a limit.
pub(crate) fn report_lacks(path: &Path, symbols: &Symbols, omitted_mappings: u64) {
    for (file, error) in symbols.unusable() {
        say(&format!("functions without names: {} {error}", file.display()));
    }
    let counts = [
        ("modules and mappings that are not used, too many", omitted_mappings),
        ("names of functions that are not used, too many or malformed", symbols.omitted()),
    ];
    damage::warn_counts(path, &counts);
}
