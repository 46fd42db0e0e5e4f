//! The samples of an input, for the commands that write their stacks.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use trace_analyze::stats::Grouping;
use trace_convert::samples::{Samples, Symbols};

use crate::cli::Selection;
use crate::damage::explained;
use crate::input::Spill;
use crate::known::refuse_unknown;
use crate::{damage, exit, input, say};

/// Returns the number of samples of each stack, and the exit code. Reports what the archive lacks,
/// and the files that cannot name their functions.
pub(crate) fn folded(
    path: &Path,
    selection: &Selection,
    grouping: Grouping,
) -> Result<(BTreeMap<String, u64>, u8)> {
    let (reader, code) = match selection.is_all() {
        true => (input::open(path)?, exit::OK),
        false => {
            let whole = Spill::new(path)?;
            refuse_unknown(path, &whole, selection, std::iter::empty())?;
            input::open_threads(path, &whole, selection)?
        }
    };
    let filter = selection.filter();
    let select = |category: &str, name: &str| filter.matches(category, name);
    let is_within = !selection.categories.is_empty() || !selection.name.is_empty();
    let read = match is_within {
        true => Samples::read(reader, Some(&select)),
        false => Samples::read(reader, None),
    };
    let samples = explained(path, read)?;
    let code = code.max(damage::warn(path, &samples.damage));
    let mut symbols = Symbols::default();
    let folded = samples.folded(grouping, &mut symbols);
    for (file, error) in symbols.unusable() {
        say(&format!("functions without names: {file} {error}"));
    }
    Ok((folded, code))
}
