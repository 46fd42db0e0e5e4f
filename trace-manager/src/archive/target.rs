//! Where an archive goes.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{ArchiveError, ManagerError};

/// Where an archive goes.
#[derive(Debug)]
pub enum ArchiveTarget {
    /// A file. It is written beside as `.NAME.partial` and gets its name when it is complete, so that
    /// an older archive of that name stays until then. Where the path names a pipe or a device, that
    /// is written directly.
    File(PathBuf),
    /// An open pipe, socket or file, written from where it stands.
    Stream(OwnedFd),
}

/// An open archive.
#[derive(Debug)]
pub(crate) struct Output {
    pub(super) file: File,
    naming: Option<Naming>,
}

/// A file that gets its name at the end.
#[derive(Debug)]
struct Naming {
    partial: PathBuf,
    name: PathBuf,
}

impl Output {
    /// Opens the target. Opening a pipe waits for its reader.
    pub(crate) fn open(target: ArchiveTarget) -> Result<Self, ManagerError> {
        match target {
            ArchiveTarget::Stream(fd) => Ok(Self { file: File::from(fd), naming: None }),
            ArchiveTarget::File(path) => Self::create(&path)
                .map_err(|source| ManagerError::CreateArchive { path: path.clone(), source }),
        }
    }

    fn create(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                Ok(Self { file, naming: None })
            }
            _ => Self::create_partial(path),
        }
    }

    fn create_partial(path: &Path) -> io::Result<Self> {
        // The file that a link names is replaced, not the link.
        let name = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let file_name = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut hidden = OsString::from(".");
        hidden.push(file_name);
        hidden.push(".partial");
        let partial = name.with_file_name(hidden);
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&partial)?;
        Ok(Self { file, naming: Some(Naming { partial, name }) })
    }

    /// Returns a directory for the blocks that the writer is behind: the archive's own, if it has one.
    pub(crate) fn spill_directory(&self) -> PathBuf {
        let parent = self.naming.as_ref().and_then(|naming| naming.partial.parent());
        match parent {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            Some(_) => PathBuf::from("."),
            None => std::env::temp_dir(),
        }
    }

    /// Tells whether bytes that were written can be replaced.
    pub(crate) fn is_patchable(&self) -> bool {
        self.naming.is_some()
    }

    /// Replaces bytes that were written.
    pub(super) fn patch(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Gives the complete archive its name.
    pub(super) fn complete(self) -> io::Result<()> {
        match &self.naming {
            Some(naming) => fs::rename(&naming.partial, &naming.name),
            None => Ok(()),
        }
    }

    /// Keeps the first `bytes`, whole records, under the partial name; nothing if there are none.
    pub(super) fn abandon(self, bytes: u64, source: io::Error) -> ArchiveError {
        let kept = self.naming.and_then(|naming| {
            if bytes == 0 || self.file.set_len(bytes).is_err() {
                // Best effort: the error that is reported is the one that came first.
                let _ = fs::remove_file(&naming.partial);
                return None;
            }
            Some(naming.partial)
        });
        ArchiveError { source, bytes, kept }
    }

    /// Throws away an archive for which there was no session.
    pub(crate) fn discard(self) {
        if let Some(naming) = self.naming {
            // Best effort: what stays behind is overwritten next time.
            let _ = fs::remove_file(naming.partial);
        }
    }
}
