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
use crate::unreadable::explained;
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

/// An input, and the part of it that has the selected threads.
pub(crate) struct SelectedThreads<'a> {
    /// All threads. Operations can have begun on threads that are not selected.
    pub(crate) whole: Spill<'a>,
    /// `None` if all threads are selected.
    part: Option<Spill<'a>>,
    /// The exit code for what is unreadable and missing in the part.
    pub(crate) code: u8,
}

impl<'a> SelectedThreads<'a> {
    /// Copies the selected threads, and reports what is unreadable.
    pub(crate) fn new(path: &'a Path, selection: &Selection) -> Result<Self> {
        let whole = Spill::new(path)?;
        let Some(threads) = selected_threads(path, &whole, selection)? else {
            return Ok(Self { whole, part: None, code: exit::OK });
        };
        let part = slice::Selection { threads: Some(&threads), ..slice::Selection::default() };
        let (copy, summary) = copy(path, &whole, &part)?;
        let part = Some(Spill::of_archive(path, copy));
        Ok(Self { whole, part, code: warn_unreadable(path, summary) })
    }

    /// Returns the selected threads.
    pub(crate) fn selected(&self) -> &Spill<'a> {
        self.part.as_ref().unwrap_or(&self.whole)
    }

    /// Returns whether all threads are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.part.is_none()
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
