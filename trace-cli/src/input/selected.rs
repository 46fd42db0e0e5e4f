//! Inputs of which only some events are used.

use std::fs::File;
use std::io::{BufWriter, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result};
use trace_analyze::Damage;
use trace_convert::slice::{self, Plan, Summary};
use trace_convert::ConvertError;
use trace_format::Reader;

use super::{open, refuse_missing, selected_threads, temporary_file_error, Spill};
use crate::cli::Selection;
use crate::damage::explained;
use crate::{damage, exit, unmatched};

/// Opens an input like [`open`], without the events that are not selected, as `trace slice` writes
/// it. Fails if a selected category or name is unknown. Reports what is unreadable, and returns the
/// exit code for that.
pub(crate) fn open_selected(
    path: &Path,
    selection: &Selection,
) -> Result<(Reader<Box<dyn Read>>, u8)> {
    if selection.is_all() {
        return Ok((open(path)?, exit::OK));
    }
    let filter = selection.filter();
    let category = |category: &str| filter.categories.matches(category);
    let name = |category: &str, name: &str| filter.names.matches(category, name);
    let input = Spill::new(path)?;
    let threads = selected_threads(path, &input, selection)?;
    let part = slice::Selection {
        category: (!selection.categories.is_empty()).then_some(&category),
        name: (!selection.name.is_empty()).then_some(&name),
        threads: threads.as_deref(),
        ..slice::Selection::default()
    };
    let (copy, summary) = copy(path, &input, &part)?;
    unmatched::refuse(selection, summary.catalog.label_texts())?;
    Ok((Reader::new(Box::new(copy)), warn_unreadable(path, summary)))
}

/// Returns the part of an input with the selected threads only, or `None` if the selection has all
/// threads. Reports what is unreadable, and returns the exit code for that.
pub(crate) fn part_of_threads<'a>(
    path: &'a Path,
    input: &Spill<'a>,
    selection: &Selection,
) -> Result<Option<(Spill<'a>, u8)>> {
    let Some(threads) = selected_threads(path, input, selection)? else { return Ok(None) };
    let part = slice::Selection { threads: Some(&threads), ..slice::Selection::default() };
    let (copy, summary) = copy(path, input, &part)?;
    Ok(Some((Spill::of_archive(path, copy), warn_unreadable(path, summary))))
}

/// Opens an input with the selected threads only. Reports what is unreadable, and returns the exit
/// code for that.
pub(crate) fn open_threads(
    path: &Path,
    input: &Spill<'_>,
    selection: &Selection,
) -> Result<(Reader<Box<dyn Read>>, u8)> {
    match part_of_threads(path, input, selection)? {
        None => Ok((input.open()?, exit::OK)),
        Some((part, code)) => Ok((part.open()?, code)),
    }
}

/// Writes a part of an archive to a temporary file.
fn copy(path: &Path, input: &Spill<'_>, part: &slice::Selection<'_>) -> Result<(File, Summary)> {
    let plan = explained(path, Plan::read(input.open()?, part))?;
    refuse_missing(path, &plan)?;
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
    Ok((copy, summary))
}

/// Reports what is unreadable. Everything else that is missing is missing in the copy as well.
fn warn_unreadable(path: &Path, summary: Summary) -> u8 {
    let Damage { stats, first_bad_record, cut, .. } = summary.damage;
    damage::warn(path, &Damage { stats, first_bad_record, cut, ..Damage::default() })
}
