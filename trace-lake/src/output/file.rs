//! Output files. [`trace_protocol::file`] has the rules.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use trace_protocol::file::{NewFile, Target};

use crate::input::STANDARD;
use crate::message::HINT;

/// Fails if the output would replace the input.
pub(crate) fn refuse_same_file(input: &Path, output: &Path) -> Result<()> {
    let (from, to) = (fs::canonicalize(input), fs::canonicalize(output));
    if from.is_ok_and(|from| to.is_ok_and(|to| from == to && from.is_file())) {
        let name = output.display();
        bail!("the archive is {name}, which the output would replace{HINT}choose another name");
    }
    Ok(())
}

/// Where a result goes.
#[derive(Debug)]
pub(super) enum OutputFile {
    /// Standard output, a pipe, a device or another special file.
    Direct(File),
    /// A file that gets its name when it is complete.
    Replace(NewFile),
}

impl OutputFile {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let failed = || format!("cannot write {}", path.display());
        if path == Path::new(STANDARD) {
            let output = io::stdout().as_fd().try_clone_to_owned();
            return Ok(Self::Direct(output.with_context(failed)?.into()));
        }
        match Target::find(path).with_context(failed)? {
            Target::File(place) => NewFile::unnamed(place).map(Self::Replace).with_context(failed),
            Target::Node(node) => node.open().map(Self::Direct).with_context(failed),
        }
    }

    /// Returns the file, open for writing.
    pub(super) fn open(&self) -> Result<File> {
        let file = match self {
            Self::Direct(file) => file.try_clone(),
            Self::Replace(file) => file.file().try_clone(),
        };
        file.context("cannot open the output a second time")
    }

    /// Gives the complete file its name.
    pub(super) fn finish(self) -> Result<()> {
        let Self::Replace(file) = self else { return Ok(()) };
        let path = file.place().path();
        file.complete()
            .with_context(|| format!("cannot rename the complete file to {}", path.display()))
    }
}

/// A file of bytes, which gets its name when it is complete.
#[derive(Debug)]
pub(crate) struct BytesFile {
    file: OutputFile,
    bytes: File,
    path: PathBuf,
}

impl BytesFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = OutputFile::create(path)?;
        let bytes = file.open()?;
        Ok(Self { file, bytes, path: path.to_owned() })
    }

    /// Writes bytes after those before.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.bytes.write_all(bytes);
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}
