//! Where an archive goes.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;

use crate::error::{ArchiveError, ManagerError};
use crate::guard::Names;

/// The archives of one name that can be written at the same time.
const MOST_PARTIALS: u32 = 100;

/// Where an archive goes.
#[derive(Debug)]
pub enum ArchiveTarget {
    /// A file. It is written beside as `.NAME.partial` and gets its name when it is complete, so
    /// that an older archive of that name stays until then. Where the path names a pipe or a
    /// device, that is written directly.
    File(PathBuf),
    /// An open pipe, socket or file, written from where it stands.
    Stream(OwnedFd),
}

/// An open archive.
#[derive(Debug)]
pub(crate) struct Output {
    pub(super) file: File,
    naming: Option<Names>,
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

    /// Creates a file, which must not be anything else.
    pub(crate) fn create_file(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => Err(io::ErrorKind::AlreadyExists.into()),
            _ => Self::create_partial(path),
        }
    }

    /// Returns the file, to append to it.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
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
        let file_name = name.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        for number in 1..=MOST_PARTIALS {
            let partial = name.with_file_name(partial_name(&file_name, number));
            if let Some(file) = lock_partial(&partial)? {
                let absolute =
                    |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let names = Names { partial: absolute(&partial), name: absolute(&name) };
                return Ok(Self { file, naming: Some(names) });
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Returns the archive's names, if it gets one at the end.
    pub(crate) fn names(&self) -> Option<&Names> {
        self.naming.as_ref()
    }

    /// Returns a directory for the blocks that the writer is behind: the archive's own, if it has
    /// one.
    pub(crate) fn spill_directory(&self) -> PathBuf {
        let parent = self.naming.as_ref().and_then(|naming| naming.partial.parent());
        match parent {
            Some(parent) => parent.to_owned(),
            None => std::env::temp_dir(),
        }
    }

    /// Tells whether bytes that were written can be replaced.
    pub(crate) fn is_patchable(&self) -> bool {
        self.naming.is_some()
    }

    /// Replaces bytes that were written.
    pub(crate) fn patch(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Gives the complete archive its name.
    pub(crate) fn complete(self) -> io::Result<()> {
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

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What an archive is called until it is complete.
fn partial_name(file_name: &OsStr, number: u32) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(file_name);
    if number != 1 {
        hidden.push(format!(".{number}"));
    }
    hidden.push(".partial");
    hidden
}

/// Opens a partial archive and empties it. `None` while somebody else writes it: a manager, or the
/// guard of one that was killed.
fn lock_partial(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Ok(None);
        }
        // It may have got its name between the two calls.
        let (ours, there) = (file.metadata()?, fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            file.set_len(0)?;
            return Ok(Some(file));
        }
    }
}
