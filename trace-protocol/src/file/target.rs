//! The destination that a path names.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use super::directory::{random_name, Directory};
use crate::sys::files::{self as sys, Status};

/// The maximum number of symbolic links that are followed: that of the kernel.
const LINKS: usize = 40;

const ROOT: &str = "/";
const CURRENT: &str = ".";

/// Permissions of a new file, before the umask.
const USUAL: u32 = 0o666;

/// The umask if it is unknown: only this user may read the file.
const STRICT_UMASK: u32 = 0o077;

/// The destination of an output.
#[derive(Debug)]
pub enum Target {
    /// A regular file, which is created or replaced.
    File(Place),
    /// A device, a FIFO or a pipe, which is written directly.
    Node(Node),
}

/// The directory, name and permissions of a complete file.
#[derive(Debug, Clone)]
pub struct Place {
    pub(super) directory: Directory,
    pub(super) name: OsString,
    pub(super) mode: u32,
}

/// A device, a FIFO or a pipe.
#[derive(Debug)]
pub struct Node {
    found: File,
    is_pipe: bool,
}

impl Target {
    /// Resolves `path`.
    ///
    /// # Errors
    ///
    /// If it cannot be an output: a directory, a socket, a name in a missing directory, a link or
    /// FIFO of another user in a world-writable directory, or a path through such a link.
    pub fn find(path: &Path) -> io::Result<Self> {
        match walk(path)? {
            Found::Open(file) => Node::new(file).map(Self::Node),
            Found::Named(directory, name, None) => {
                Ok(Self::File(Place { directory, name, mode: permissions(None) }))
            }
            Found::Named(directory, name, Some(file)) => {
                let metadata = file.metadata()?;
                if !metadata.is_file() {
                    return Node::new(file).map(Self::Node);
                }
                Ok(Self::File(Place { directory, name, mode: permissions(Some(&metadata)) }))
            }
        }
    }
}

impl Place {
    /// Resolves `path`, which must be a regular file or missing.
    ///
    /// # Errors
    ///
    /// Those of [`Target::find`], and `AlreadyExists` for a device or a pipe.
    pub fn find(path: &Path) -> io::Result<Self> {
        match Target::find(path)? {
            Target::File(place) => Ok(place),
            Target::Node(_) => {
                Err(io::Error::new(io::ErrorKind::AlreadyExists, "is not a regular file"))
            }
        }
    }

    /// Returns the place of a new file in an open directory. Follows no link.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name exists and is not a regular file.
    pub fn beneath(directory: Directory, name: OsString) -> io::Result<Self> {
        let mode = match directory.open_path(&name, libc::O_NOFOLLOW) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => permissions(None),
            Err(error) => return Err(error),
            Ok(found) => {
                let metadata = found.metadata()?;
                if !metadata.is_file() {
                    let reason = "is not a regular file";
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
                }
                permissions(Some(&metadata))
            }
        };
        Ok(Self { directory, name, mode })
    }

    /// Returns the same directory and permissions with another name.
    #[must_use]
    pub fn with_name(self, name: OsString) -> Self {
        Self { name, ..self }
    }

    /// Creates a place from parts that another process has resolved.
    pub fn from_parts(directory: Directory, name: OsString, mode: u32) -> Self {
        Self { directory, name, mode }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns the name in the directory.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the permissions of the complete file.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// Returns the path, for messages.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// Returns whether a regular file that is not empty has the name.
    pub fn has_content(&self) -> bool {
        self.directory.look(&self.name).is_ok_and(|status| status.has_content())
    }

    /// Frees the name. A file with content is renamed to `NAME.old`, or to another name if
    /// `NAME.old` cannot be replaced, such as a directory. Returns that name. An empty file is
    /// removed.
    pub(super) fn back_up(&self) -> io::Result<Option<OsString>> {
        let backup = match self.directory.look(&self.name) {
            Ok(status) if status.kind() == libc::S_IFDIR => Err(is_a_directory()),
            Ok(status) if status.has_content() => self.rename_to_old(&self.name).map(Some),
            Ok(_) => self.remove_empty(),
            Err(error) => Err(error),
        };
        match backup {
            // Another process has renamed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            backup => backup,
        }
    }

    fn rename_to_old(&self, name: &OsStr) -> io::Result<OsString> {
        let mut old = self.name.clone();
        old.push(".old");
        if self.directory.rename(name, &old).is_err() {
            old.push(".");
            old = random_name(&old, "");
            self.directory.rename(name, &old)?;
        }
        Ok(old)
    }

    /// Removes the empty file of this name, unless another process has replaced it meanwhile.
    fn remove_empty(&self) -> io::Result<Option<OsString>> {
        let aside = random_name(".trace-".as_ref(), ".tmp");
        self.directory.rename(&self.name, &aside)?;
        if self.directory.look(&aside)?.has_content() {
            return self.rename_to_old(&aside).map(Some);
        }
        self.directory.remove(&aside).map(|()| None)
    }
}

impl Node {
    fn new(found: File) -> io::Result<Self> {
        let kind = found.metadata()?.file_type();
        if kind.is_dir() {
            return Err(is_a_directory());
        }
        if kind.is_socket() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "is a socket"));
        }
        Ok(Self { found, is_pipe: kind.is_fifo() })
    }

    /// Opens it for writing. Opening a FIFO waits for its reader.
    ///
    /// # Errors
    ///
    /// Those of open(2).
    pub fn open(&self) -> io::Result<File> {
        sys::reopen(&self.found, libc::O_WRONLY | libc::O_NOCTTY)
    }

    /// Opens it for writing without blocking, neither here nor in later writes.
    ///
    /// # Errors
    ///
    /// `NotConnected` for a FIFO without a reader, `WouldBlock` for a pipe that another process has
    /// opened with this function, else those of open(2).
    pub fn open_nonblocking(&self) -> io::Result<File> {
        let flags = libc::O_WRONLY | libc::O_NOCTTY | libc::O_NONBLOCK;
        let file = sys::reopen(&self.found, flags).map_err(|error| match error.raw_os_error() {
            Some(libc::ENXIO) => {
                io::Error::new(io::ErrorKind::NotConnected, "no process reads from it")
            }
            _ => error,
        })?;
        // Two processes that write to one pipe would mix their archives.
        if self.is_pipe && !sys::lock(&file) {
            let reason = "another process writes an archive to it";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, reason));
        }
        Ok(file)
    }
}

/// The result of resolving a path. Files are open with `O_PATH`.
enum Found {
    /// A name in a directory, and its file if it exists.
    Named(Directory, OsString, Option<File>),
    /// An open file of some process that has no name.
    Open(File),
}

/// The result of one component of a path.
enum Step {
    Found(Found),
    Entered(Directory),
    /// A link with this text.
    Link(PathBuf),
}

/// Resolves a path, one component at a time, because the kernel checks the owners of links only if
/// `fs.protected_symlinks` is set.
///
/// Each step checks the opened file, because another user may replace names meanwhile.
fn walk(path: &Path) -> io::Result<Found> {
    let mut directory = Directory::open(if path.is_absolute() { ROOT } else { CURRENT }.as_ref())?;
    let mut rest = names(path);
    let mut links = 0;
    while let Some(name) = rest.pop() {
        let is_last = rest.is_empty() && name != "..";
        let step = match is_last {
            true => look(&directory, name),
            false => enter(&directory, &name).map_err(|error| not_entered(path, error)),
        };
        match step? {
            Step::Found(found) => return Ok(found),
            Step::Entered(entered) => directory = entered,
            Step::Link(_) if links == LINKS => {
                return Err(io::Error::from_raw_os_error(libc::ELOOP))
            }
            Step::Link(text) => {
                links += 1;
                if text.is_absolute() {
                    directory = Directory::open(ROOT.as_ref())?;
                }
                rest.extend(names(&text));
            }
        }
    }
    Err(is_a_directory())
}

/// Returns the components of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path
        .components()
        .rev()
        .filter(|it| matches!(it, Component::Normal(_) | Component::ParentDir));
    names.map(|name| name.as_os_str().to_owned()).collect()
}

/// Looks the last component of a path up.
fn look(directory: &Directory, name: OsString) -> io::Result<Step> {
    let found = match directory.open_path(&name, libc::O_NOFOLLOW) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Step::Found(Found::Named(directory.clone(), name, None)));
        }
        Err(error) => return Err(error),
    };
    let status = Status::of(&found.metadata()?);
    refuse_planted(directory, &status)?;
    if status.kind() != libc::S_IFLNK {
        return Ok(Step::Found(Found::Named(directory.clone(), name, Some(found))));
    }
    let text = PathBuf::from(sys::read_link(&found)?);
    if directory.is_of_proc()? {
        return follow_to_open_file(directory, &name, &text).map(Step::Found);
    }
    Ok(Step::Link(text))
}

/// Opens a directory of a path, or reads the link of this name.
fn enter(directory: &Directory, name: &OsStr) -> io::Result<Step> {
    let error = match directory.open_directory(name, libc::O_NOFOLLOW) {
        Ok(entered) => return Ok(Step::Entered(entered)),
        Err(error) => error,
    };
    if !matches!(error.raw_os_error(), Some(libc::ENOTDIR | libc::ELOOP)) {
        return Err(error);
    }
    let found = directory.open_path(name, libc::O_NOFOLLOW)?;
    let status = Status::of(&found.metadata()?);
    if status.kind() != libc::S_IFLNK {
        return Err(error);
    }
    refuse_planted(directory, &status)?;
    if directory.is_of_proc()? {
        return directory.open_directory(name, 0).map(Step::Entered);
    }
    sys::read_link(&found).map(|text| Step::Link(text.into()))
}

/// Follows a link of proc(5), such as the target of `/dev/stdout`. Its text may be an outdated name
/// of the file.
fn follow_to_open_file(directory: &Directory, name: &OsStr, text: &Path) -> io::Result<Found> {
    let file = directory.open_path(name, 0)?;
    let named = text.file_name().zip(text.parent()).and_then(|(name, parent)| {
        let directory = Directory::open(parent).ok()?;
        directory.holds(name, &file).then(|| (directory, name.to_owned()))
    });
    Ok(match named {
        Some((directory, name)) => Found::Named(directory, name, Some(file)),
        None => Found::Open(file),
    })
}

fn is_a_directory() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "is a directory")
}

/// Returns the error for a path with a directory that cannot be opened.
fn not_entered(path: &Path, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::NotFound {
        return error;
    }
    let parent = path.parent().unwrap_or(path);
    let reason = format!("its directory '{}' does not exist", parent.display());
    io::Error::new(io::ErrorKind::NotFound, reason)
}

/// Refuses links and FIFOs of other users in world-writable directories.
fn refuse_planted(directory: &Directory, found: &Status) -> io::Result<()> {
    let what = match found.kind() {
        libc::S_IFLNK => "symbolic link",
        libc::S_IFIFO => "FIFO",
        _ => return Ok(()),
    };
    let place = directory.status()?;
    let is_trusted = [sys::user(), place.owner, 0].contains(&found.owner);
    if place.mode & 0o002 == 0 || is_trusted {
        return Ok(());
    }
    let reason = format!(
        "is a {what} of another user (uid {}) in '{}', which everybody can write",
        found.owner,
        directory.path().display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

/// Returns the permissions of a file that replaces `replaced`: the same ones. Those of another
/// user's file can only restrict the usual ones.
fn permissions(replaced: Option<&Metadata>) -> u32 {
    let usual = USUAL & !umask();
    match replaced {
        Some(replaced) if replaced.uid() == sys::user() => replaced.mode() & 0o777,
        Some(replaced) => replaced.mode() & usual,
        None => usual,
    }
}

/// Returns the umask of this process. umask(2) cannot read it without changing it for all threads.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(STRICT_UMASK)
}
