//! Inputs that can be read twice.

use std::cell::Cell;
use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use trace_format::Reader;

use super::{is_file, open_any, Input, InputKind};
use crate::message::HINT;
use crate::progress::Watched;

/// An input that can be read more than once: a file, or a temporary copy of a pipe's data.
#[derive(Debug)]
pub(crate) struct Spill<'a> {
    path: &'a Path,
    /// The copy, its format and shift, and the id of its map. The file has no
    /// name: it disappears when this process ends.
    copy: Option<(File, Option<InputKind>, u64, Option<u64>)>,
    /// Whether the next pass prints notes about the input: only the first one does.
    has_notes: Cell<bool>,
}

impl<'a> Spill<'a> {
    pub(crate) fn new(path: &'a Path) -> Result<Self> {
        if is_file(path) {
            return Ok(Self { path, copy: None, has_notes: Cell::new(true) });
        }
        let Input { kind, bytes, shift, has_notes, map_id } = open_any(path)?;
        let copy = tempfile::tempfile().with_context(temporary_file_error)?;
        match kind {
            Some(_) => copy_to(path, bytes, &copy, temporary_file_error)?,
            // The first bytes are enough for the error message.
            None => copy_to(path, bytes.take(8), &copy, temporary_file_error)?,
        }
        let copy = Some((copy, kind, shift, map_id));
        Ok(Self { path, copy, has_notes: Cell::new(has_notes) })
    }

    /// Returns the file at `path`, whose notes have been printed.
    pub(crate) fn of_known_file(path: &'a Path) -> Self {
        Self { path, copy: None, has_notes: Cell::new(false) }
    }

    /// Returns the input at `path`, of which `copy` is a part as an archive.
    pub(crate) fn of_archive(path: &'a Path, copy: File) -> Self {
        let copy = Some((copy, Some(InputKind::Fxt), 0, None));
        Self { path, copy, has_notes: Cell::new(false) }
    }

    /// Returns a reader from the start. A pipe's copy has one reader at a time.
    pub(crate) fn open(&self) -> Result<Reader<Box<dyn Read>>> {
        let has_notes = self.has_notes.replace(false);
        let Some((copy, kind, shift, map_id)) = &self.copy else {
            return Input { has_notes, ..open_any(self.path)? }.into_reader(self.path, false);
        };
        let copy = copy.try_clone().and_then(|mut copy| copy.rewind().map(|()| copy));
        let copy = copy.with_context(|| format!("cannot read {}", self.path.display()))?;
        let bytes = Box::new(Watched::new(copy));
        let (kind, shift, map_id) = (*kind, *shift, *map_id);
        Input { kind, bytes, shift, has_notes, map_id }.into_reader(self.path, false)
    }
}

/// Copies the input at `path`; `unwritable` is the error if the copy cannot be written.
pub(crate) fn copy_to(
    path: &Path,
    mut input: impl Read,
    mut copy: impl Write,
    unwritable: impl Fn() -> String,
) -> Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = match input.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        match piece.get(..read) {
            Some(bytes) if read > 0 => copy.write_all(bytes).with_context(&unwritable)?,
            _ => return Ok(()),
        }
    }
}

/// Returns the message for a temporary file that cannot be written.
pub(crate) fn temporary_file_error() -> String {
    let place = env::temp_dir();
    format!(
        "cannot write a temporary file in {}{HINT}set TMPDIR to another directory",
        place.display()
    )
}
