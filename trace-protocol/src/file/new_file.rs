//! A file that is not complete.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::directory::{random_name, Directory};
use super::target::Place;

/// Random names that are tried.
const TRIES: usize = 8;

/// A file that gets its name, and the permissions of what it replaces, when it is complete.
#[derive(Debug)]
pub struct NewFile {
    file: Arc<File>,
    place: Place,
    /// The name until then, if it has one.
    partial: Option<OsString>,
    /// Whether it stays when this is dropped.
    is_kept: bool,
}

impl NewFile {
    /// Creates one without a name: nothing is left of it when this process is killed. File systems
    /// that have no such files give it a name that cannot be guessed.
    ///
    /// # Errors
    ///
    /// When no file can be created in the directory.
    pub fn unnamed(place: Place) -> io::Result<Self> {
        match place.directory.create_linkable() {
            Ok(file) => Ok(Self { file: Arc::new(file), place, partial: None, is_kept: false }),
            Err(_) => Self::hidden(place),
        }
    }

    /// Creates one with a name that cannot be guessed, which goes away when this is dropped.
    pub(super) fn hidden(place: Place) -> io::Result<Self> {
        let (name, file) = place.directory.create_random(".trace-", ".tmp")?;
        Ok(Self { file: Arc::new(file), place, partial: Some(name), is_kept: false })
    }

    /// Creates one that can be found when this process is killed: as `.NAME.partial`, or as
    /// `.NAME.<random>.partial` if another process writes that or it is not this user's. It is
    /// locked as long as it is open.
    ///
    /// # Errors
    ///
    /// When no file can be created in the directory.
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

    /// Creates one with this name in place of what an earlier process of this user left behind.
    /// `None` if the name is taken.
    ///
    /// # Errors
    ///
    /// When no file can be created in the directory.
    pub fn named(place: Place, partial: OsString) -> io::Result<Option<Self>> {
        let file = place.directory.replace(&partial)?.map(Arc::new);
        Ok(file.map(|file| Self { file, place, partial: Some(partial), is_kept: false }))
    }

    /// Takes one that another process has created in the directory of `place`. It is kept.
    pub fn from_parts(file: File, place: Place, partial: OsString) -> Self {
        Self { file: Arc::new(file), place, partial: Some(partial), is_kept: true }
    }

    /// Has `change` give the open file another descriptor.
    ///
    /// # Errors
    ///
    /// When the process has no file descriptor left.
    pub fn move_descriptor(&mut self, change: impl FnOnce(OwnedFd) -> OwnedFd) -> io::Result<()> {
        let copy = self.file.try_clone()?;
        self.file = Arc::new(File::from(change(copy.into())));
        Ok(())
    }

    /// Returns the file, open to read and write.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Returns where it goes.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the name that it has until it is complete.
    pub fn partial(&self) -> Option<&OsStr> {
        self.partial.as_deref()
    }

    /// Returns the path that it has until it is complete, for people.
    pub fn partial_path(&self) -> Option<PathBuf> {
        self.partial.as_ref().map(|name| self.directory().path().join(name))
    }

    /// Whether it still has the name that it was created with.
    pub fn is_there(&self) -> bool {
        self.partial.as_ref().is_none_or(|name| self.directory().holds(name, &self.file))
    }

    /// Gives it its permissions and its name.
    ///
    /// # Errors
    ///
    /// `NotFound` when another process has renamed or removed it.
    pub fn complete(mut self) -> io::Result<()> {
        if !self.is_there() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "its partial file is gone"));
        }
        self.file.set_permissions(Permissions::from_mode(self.place.mode))?;
        match &self.partial {
            Some(partial) => self.directory().rename(partial, &self.place.name)?,
            None => self.directory().link(&self.file, &self.place.name)?,
        }
        self.partial = None;
        Ok(())
    }

    /// Lets the partial file stay when this is dropped.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Removes it.
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
            // Best effort: what stays behind is replaced next time.
            let _ = self.directory().remove(partial);
        }
    }
}
