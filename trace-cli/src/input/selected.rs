//! Inputs of which only some events are used.

use std::io::{BufWriter, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result};
use trace_analyze::Damage;
use trace_convert::slice::{self, Plan};
use trace_convert::ConvertError;
use trace_format::Reader;

use super::{open, temporary_file_error, Spill};
use crate::cli::Selection;
use crate::damage::explained;
use crate::{damage, exit, unmatched};

/// Opens an input like [`open`], without the events that are not selected, as `trace slice` writes
/// it. Reports what is unreadable, and returns the exit code for that.
pub(crate) fn open_selected(
    path: &Path,
    selection: &Selection,
) -> Result<(Reader<Box<dyn Read>>, u8)> {
    if selection.is_all() {
        return Ok((open(path)?, exit::OK));
    }
    let filter = selection.filter();
    let category = |category: &str| filter.categories.matches(category);
    let name = |name: &str| filter.names.matches(name);
    let part = slice::Selection {
        category: (!selection.categories.is_empty()).then_some(&category),
        name: (!selection.name.is_empty()).then_some(&name),
        ..slice::Selection::default()
    };
    let input = Spill::new(path)?;
    let plan = explained(path, Plan::read(input.open()?, &part))?;
    let failed = || format!("cannot process {}", path.display());
    let copy = tempfile::tempfile().with_context(temporary_file_error);
    let mut copy = copy.with_context(failed)?;
    let summary = slice::write(input.open()?, &plan, BufWriter::new(&mut copy));
    let summary = match summary {
        Err(ConvertError::Write(error)) => {
            return Err(error).with_context(temporary_file_error).with_context(failed)
        }
        summary => explained(path, summary)?,
    };
    copy.rewind().with_context(failed)?;
    unmatched::warn(&filter.categories, &summary.categories);
    // Everything else that is missing is missing in the copy as well.
    let Damage { stats, first_bad_record, cut, .. } = summary.damage;
    let unreadable = Damage { stats, first_bad_record, cut, ..Damage::default() };
    Ok((Reader::new(Box::new(copy)), damage::warn(path, &unreadable)))
}
