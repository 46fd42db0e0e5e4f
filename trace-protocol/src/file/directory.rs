//! An open directory, and operations on names in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sys::files::{self as sys, Status};

/// Permissions of an incomplete file: only this user may read or write it.
const PRIVATE: u32 = 0o600;

/// The number of retries for a name that other processes create and remove meanwhile.
const TRIES: usize = 16;

/// An open directory. Operations are not affected if it is renamed. Clones share the descriptor.
#[derive(Debug, Clone)]
pub struct Directory {
    file: Arc<File>,
    path: PathBuf,
}

/// The result of [`Directory::claim`].
#[derive(Debug)]
pub enum Claim {
    /// A new file, locked.
    New(File),
    /// A file that an earlier process of this user left behind, locked.
    Leftover(File),
    /// The name is in use: another process writes the file, or it is not a file of this user.
    Taken,
}

impl Directory {
    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// If it is missing, is not a directory, or may not be searched.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let file = sys::open(None, path.as_os_str(), libc::O_PATH | libc::O_DIRECTORY, 0)?;
        Ok(Self::of(file, path))
    }

    /// Opens a directory in this one.
    pub(super) fn open_directory(&self, name: &OsStr, flags: libc::c_int) -> io::Result<Self> {
        let file = self.open_path(name, libc::O_DIRECTORY | flags)?;
        Ok(Self::of(file, &self.path.join(name)))
    }

    fn of(file: File, path: &Path) -> Self {
        // For messages only.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Self { file: Arc::new(file), path }
    }

    /// Wraps a directory that another process has opened. `path` is its path in messages.
    pub fn from_fd(fd: OwnedFd, path: PathBuf) -> Self {
        Self { file: Arc::new(File::from(fd)), path }
    }

    /// Returns its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file that only this user can read and write.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name exists, even as a dangling link.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        sys::open(Some(&self.file), name, flags, PRIVATE)
    }

    /// Opens a file for reading and writing. It must be a regular file of this user with one link,
    /// which other users cannot write.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` with the reason if it is not such a file.
    pub fn open_own(&self, name: &OsStr) -> io::Result<File> {
        // Checked before it is opened, because opening a device may have an effect.
        verify(&self.look(name)?)?;
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = sys::open(Some(&self.file), name, flags, 0)?;
        verify(&Status::of(&file.metadata()?))?;
        Ok(file)
    }

    /// Opens a regular file for reading, without following a link.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is not a regular file.
    pub fn open_regular(&self, name: &OsStr) -> io::Result<File> {
        // Opening a FIFO would wait for its writer.
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = sys::open(Some(&self.file), name, flags, 0)?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Locks the file `name` for this process, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn claim(&self, name: &OsStr) -> io::Result<Claim> {
        for _ in 0..TRIES {
            let (file, is_new) = match self.create_new(name) {
                Ok(file) => (file, true),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => match self.open_own(name) {
                    Ok(file) => (file, false),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) if is_shortage(&error) => return Err(error),
                    Err(_) => break,
                },
            };
            if !sys::lock(&file) {
                break;
            }
            // The process that had the lock may have renamed or removed it.
            if self.holds(name, &file) {
                return Ok(if is_new { Claim::New(file) } else { Claim::Leftover(file) });
            }
        }
        Ok(Claim::Taken)
    }

    /// Creates a locked file `name`, and replaces a file that an earlier process of this user left
    /// behind. Returns `None` if the name is in use.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn replace(&self, name: &OsStr) -> io::Result<Option<File>> {
        for _ in 0..TRIES {
            match self.claim(name)? {
                Claim::New(file) => return Ok(Some(file)),
                Claim::Leftover(_locked) => self.remove(name)?,
                Claim::Taken => break,
            }
        }
        Ok(None)
    }

    /// Creates a file without a name, which the kernel removes when this process ends.
    ///
    /// # Errors
    ///
    /// If no file can be created in this directory.
    pub fn create_unnamed(&self) -> io::Result<File> {
        self.create_linkable().or_else(|_| {
            let (name, file) = self.create_random(".trace-", ".tmp")?;
            self.remove(&name).map(|()| file)
        })
    }

    /// Creates a file without a name, which can be linked later.
    ///
    /// # Errors
    ///
    /// If the file system does not support it, or `/proc` is missing, which linking requires.
    pub(super) fn create_linkable(&self) -> io::Result<File> {
        let flags = libc::O_TMPFILE | libc::O_RDWR;
        let file = sys::open(Some(&self.file), OsStr::new("."), flags, PRIVATE)?;
        std::fs::symlink_metadata(sys::descriptor_path(&file)).map(|_| file)
    }

    /// Creates a file with an unpredictable name.
    ///
    /// # Errors
    ///
    /// If no file can be created in this directory.
    pub fn create_random(&self, before: &str, after: &str) -> io::Result<(OsString, File)> {
        for _ in 1..TRIES {
            let name = random_name(before.as_ref(), after);
            match self.create_new(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|file| (name, file)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns whether the name refers to this open file.
    pub fn holds(&self, name: &OsStr, file: &File) -> bool {
        let (found, ours) = (self.look(name), file.metadata());
        let ours = ours.map(|ours| Status::of(&ours).identity);
        found.is_ok_and(|found| ours.is_ok_and(|ours| found.identity == ours))
    }

    /// Returns the device and inode of a name, or `None` if it does not exist.
    pub fn id_of(&self, name: &OsStr) -> Option<(u64, u64)> {
        self.look(name).ok().map(|found| found.identity)
    }

    /// Returns whether the name exists.
    pub fn has(&self, name: &OsStr) -> bool {
        self.look(name).is_ok()
    }

    /// Renames a file. Replaces a file with the new name.
    ///
    /// # Errors
    ///
    /// Those of renameat(2).
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        sys::rename(&self.file, from, to)
    }

    /// Renames a file. Fails with `AlreadyExists` if the new name exists.
    pub(super) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match sys::rename_new(&self.file, from, to) {
            // Not supported. Another process may create the name meanwhile.
            Err(error) if is_unsupported(&error) => match self.has(to) {
                true => Err(io::ErrorKind::AlreadyExists.into()),
                false => self.rename(from, to),
            },
            renamed => renamed,
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// Those of unlinkat(2).
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        sys::remove(&self.file, name)
    }

    /// Gives a name to a file without one. Fails with `AlreadyExists` if the name exists.
    pub(super) fn link_new(&self, file: &File, name: &OsStr) -> io::Result<()> {
        sys::link(file, &self.file, name)
    }

    /// Gives a name to a file without one. Replaces a file of this name.
    pub(super) fn link(&self, file: &File, name: &OsStr) -> io::Result<()> {
        match self.link_new(file, name) {
            // linkat(2) does not replace a file, but renameat(2) does.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let between = random_name(".trace-".as_ref(), ".tmp");
                self.link_new(file, &between)?;
                self.rename(&between, name).inspect_err(|_| {
                    // Best effort: the first error is reported.
                    let _ = self.remove(&between);
                })
            }
            linked => linked,
        }
    }

    /// Returns the status of a name, without opening the file or following a link.
    pub(super) fn look(&self, name: &OsStr) -> io::Result<Status> {
        sys::look(&self.file, name)
    }

    /// Opens a name with `O_PATH`, which has no effect on the file.
    pub(super) fn open_path(&self, name: &OsStr, flags: libc::c_int) -> io::Result<File> {
        sys::open(Some(&self.file), name, libc::O_PATH | flags, 0)
    }

    /// Returns whether it is on proc(5), where links refer to open files, as in `/proc/self/fd`.
    pub(super) fn is_of_proc(&self) -> io::Result<bool> {
        Ok(sys::file_system(self.file.as_fd())? == libc::PROC_SUPER_MAGIC as u64)
    }

    pub(super) fn status(&self) -> io::Result<Status> {
        self.file.metadata().map(|metadata| Status::of(&metadata))
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns whether an error is a shortage of resources, and not caused by the file.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

/// Returns whether the file system (EINVAL), the kernel (ENOSYS) or a sandbox (EPERM) lacks a call.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EPERM))
}

/// Returns an unpredictable name: 64 random bits between two texts.
// `RandomState` gets its keys from the kernel's random numbers.
pub fn random_name(before: &OsStr, after: &str) -> OsString {
    let mut name = before.to_owned();
    name.push(format!("{:016x}{after}", RandomState::new().build_hasher().finish()));
    name
}

/// Checks that only this user can write a file.
fn verify(found: &Status) -> io::Result<()> {
    let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    match found.kind() {
        libc::S_IFREG => {}
        libc::S_IFLNK => return refuse("is a symbolic link".to_owned()),
        _ => return refuse("is not a regular file".to_owned()),
    }
    if found.owner != sys::user() {
        return refuse(format!("belongs to another user (uid {})", found.owner));
    }
    if found.links != 1 {
        return refuse(format!("has {} names", found.links));
    }
    if found.mode & 0o022 != 0 {
        return refuse("can be written by other users".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_name_has_the_identity_of_its_file() {
        let home = tempfile::tempdir().unwrap();
        let directory = Directory::open(home.path()).unwrap();
        let (name, other) = (OsStr::new("a"), OsStr::new("b"));
        assert_eq!((directory.id_of(name), directory.has(name)), (None, false));
        let files = [name, other].map(|name| File::create(home.path().join(name)).unwrap());
        let status = files[0].metadata().unwrap();
        assert_eq!(directory.id_of(name), Some((status.dev(), status.ino())));
        assert!(directory.holds(name, &files[0]) && !directory.holds(name, &files[1]));
    }
}
