//! An incomplete output file.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::directory::{random_name, Directory};
use super::target::Place;

/// The number of random names that are tried.
const TRIES: usize = 8;

/// A file that gets its name, and the permissions of the file that it replaces, when it is
/// complete.
#[derive(Debug)]
pub struct NewFile {
    file: Arc<File>,
    place: Place,
    /// The name while it is incomplete, if it has one.
    partial: Option<OsString>,
    /// Whether the file is kept when this is dropped.
    is_kept: bool,
}

impl NewFile {
    /// Creates a file without a name, which the kernel removes when this process ends. On file
    /// systems without such files, it has an unpredictable name.
    ///
    /// # Errors
    ///
    /// If no file can be created in the directory.
    pub fn unnamed(place: Place) -> io::Result<Self> {
        match place.directory.create_linkable() {
            Ok(file) => Ok(Self { file: Arc::new(file), place, partial: None, is_kept: false }),
            Err(_) => Self::hidden(place),
        }
    }

    /// Creates a file with an unpredictable name, which is removed when this is dropped.
    pub(super) fn hidden(place: Place) -> io::Result<Self> {
        let (name, file) = place.directory.create_random(".trace-", ".tmp")?;
        Ok(Self { file: Arc::new(file), place, partial: Some(name), is_kept: false })
    }

    /// Creates a file that can be found after this process is killed: `.NAME.partial`, or
    /// `.NAME.<random>.partial` if that name is in use. It is locked while it is open.
    ///
    /// # Errors
    ///
    /// If no file can be created in the directory.
    pub fn findable(place: Place) -> io::Result<Self> {
        let mut hidden = OsString::from(".");
        hidden.push(&place.name);
        let mut name = hidden.clone();
        name.push(".partial");
        hidden.push(".");
        for _ in 0..TRIES {
            if let Some(file) = Self::named(place.clone(), name)? {
                return Ok(file);
            }
            name = random_name(&hidden, ".partial");
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Creates a file with this name, and replaces a file that an earlier process of this user left
    /// behind. Returns `None` if the name is in use.
    ///
    /// # Errors
    ///
    /// If no file can be created in the directory.
    pub fn named(place: Place, partial: OsString) -> io::Result<Option<Self>> {
        let file = place.directory.replace(&partial)?.map(Arc::new);
        Ok(file.map(|file| Self { file, place, partial: Some(partial), is_kept: false }))
    }

    /// Wraps a file that another process has created in the directory of `place`. It is kept when
    /// this is dropped.
    pub fn from_parts(file: File, place: Place, partial: OsString) -> Self {
        Self { file: Arc::new(file), place, partial: Some(partial), is_kept: true }
    }

    /// Replaces the descriptor of the open file by the result of `change`.
    ///
    /// # Errors
    ///
    /// If the process has no file descriptor left.
    pub fn move_descriptor(&mut self, change: impl FnOnce(OwnedFd) -> OwnedFd) -> io::Result<()> {
        let copy = self.file.try_clone()?;
        self.file = Arc::new(File::from(change(copy.into())));
        Ok(())
    }

    /// Returns the file, open for reading and writing.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Returns its destination.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns its name while it is incomplete, or `None` if it has no name.
    pub fn partial(&self) -> Option<&OsStr> {
        self.partial.as_deref()
    }

    /// Returns its path while it is incomplete, for messages.
    pub fn partial_path(&self) -> Option<PathBuf> {
        self.partial.as_ref().map(|name| self.directory().path().join(name))
    }

    /// Returns whether it still has the name with which it was created.
    pub fn is_there(&self) -> bool {
        self.partial.as_ref().is_none_or(|name| self.directory().holds(name, &self.file))
    }

    /// Completes the file: sets its permissions and its final name.
    ///
    /// # Errors
    ///
    /// `NotFound` if another process has renamed or removed it.
    pub fn complete(mut self) -> io::Result<()> {
        self.prepare()?;
        match &self.partial {
            Some(partial) => self.directory().rename(partial, &self.place.name)?,
            None => self.directory().link(&self.file, &self.place.name)?,
        }
        self.partial = None;
        Ok(())
    }

    /// Completes the file. A file that has its final name is first renamed to `NAME.old`, as
    /// perf(1) does, and replaces an older one of that name. If that is impossible, as with a
    /// directory of that name, it is renamed to `NAME.old.<random>`. Returns its new path.
    ///
    /// # Errors
    ///
    /// Those of [`NewFile::complete`], and of renaming the earlier file, which then has its name.
    pub fn complete_with_backup(self) -> io::Result<Option<PathBuf>> {
        self.complete_by(Self::take_free_name)
    }

    /// Completes the file by `take_name`, which fails with `AlreadyExists` if the final name
    /// exists. Other processes may complete a file of that name at the same time. Returns the new
    /// path of the earlier file.
    pub(super) fn complete_by(
        mut self,
        mut take_name: impl FnMut(&Self) -> io::Result<()>,
    ) -> io::Result<Option<PathBuf>> {
        self.prepare()?;
        let mut backup = None;
        let mut named = take_name(&self);
        for _ in 0..TRIES {
            if !named.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
            named = self.place.back_up().and_then(|name| {
                backup = name.or(backup.take());
                take_name(&self)
            });
        }
        match (&named, &backup) {
            (Ok(()), _) => self.partial = None,
            // Best effort: the first error is reported.
            (Err(_), Some(old)) => drop(self.directory().rename_new(old, &self.place.name)),
            (Err(_), None) => {}
        }
        named.map(|()| backup.map(|old| self.directory().path().join(old)))
    }

    /// Sets the permissions of the complete file.
    fn prepare(&self) -> io::Result<()> {
        if !self.is_there() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "its partial file is gone"));
        }
        self.file.set_permissions(Permissions::from_mode(self.place.mode))
    }

    fn take_free_name(&self) -> io::Result<()> {
        match &self.partial {
            Some(partial) => self.directory().rename_new(partial, &self.place.name),
            None => self.directory().link_new(&self.file, &self.place.name),
        }
    }

    /// Keeps the incomplete file when this is dropped.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Removes the file.
    pub fn discard(mut self) {
        self.is_kept = false;
    }

    fn directory(&self) -> &Directory {
        &self.place.directory
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(partial) = self.partial.as_ref().filter(|_| !self.is_kept && self.is_there()) {
            // Best effort: a file that is left behind is replaced next time.
            let _ = self.directory().remove(partial);
        }
    }
}
