//! Inputs that are read twice.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use trace_format::layout::MAGIC_WORD;
use trace_format::Reader;

use super::{is_file, open, open_bytes};
use crate::message::HINT;
use crate::progress::Watched;

/// An archive that can be read twice: a file, or a copy of a pipe's content.
#[derive(Debug)]
pub(crate) struct Again<'a> {
    path: &'a Path,
    /// It has no name in the file system, so it never outlives this process.
    copy: Option<File>,
}

impl<'a> Again<'a> {
    pub(crate) fn new(path: &'a Path) -> Result<Self> {
        if is_file(path) {
            return Ok(Self { path, copy: None });
        }
        let mut input = open_bytes(path, |file| Box::new(Watched::new(file)))?;
        let copy = tempfile::tempfile().with_context(no_room)?;
        let mut start = Vec::new();
        copy_to(path, input.by_ref().take(8), &mut start)?;
        copy_to(path, &*start, &copy)?;
        // A file that is not an archive is refused without its content.
        if start == MAGIC_WORD.to_le_bytes() {
            copy_to(path, input, &copy)?;
        }
        Ok(Self { path, copy: Some(copy) })
    }

    /// Reads it from its start. A pipe's copy has one reader at a time.
    pub(crate) fn open(&self) -> Result<Reader<Box<dyn Read>>> {
        let Some(copy) = &self.copy else {
            return open(self.path);
        };
        let again = copy.try_clone().and_then(|mut copy| copy.rewind().map(|()| copy));
        let again = again.with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(Reader::new(Box::new(Watched::new(again))))
    }
}

/// Copies the input at `path` to a temporary file.
pub(crate) fn copy_to(path: &Path, mut input: impl Read, mut copy: impl Write) -> Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = match input.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        match piece.get(..read) {
            Some(bytes) if read > 0 => copy.write_all(bytes).with_context(no_room)?,
            _ => return Ok(()),
        }
    }
}

/// Returns the message for a temporary file that cannot be written.
pub(crate) fn no_room() -> String {
    let place = env::temp_dir();
    format!(
        "cannot write a temporary file in {}{HINT}set TMPDIR to another directory",
        place.display()
    )
}
