//! The private directories of recorders, and their control sockets.
//!
//! Each `trace record` has a directory `record-PID-…` in a folder of its user, and listens on
//! `control.sock` in it. Other commands of the user find it there.
//!
//! ```text
//! $XDG_RUNTIME_DIR/trace/           0700, of this user
//!   record-4242-Xq3bTw/             0700, of this user, locked by the recorder
//!     control.sock                  0600
//!     manager.sock                  if the recorded command has a private socket
//! ```
//!
//! The folder is the first of three that this user can use: the one in `XDG_RUNTIME_DIR`, then
//! `trace-UID` in the directory of temporary files, then the same in `/tmp`. Other commands look in
//! this one, so recorders are found by commands with the same variables. A folder that another user
//! owns or can write, or a link, is not used. In one that it cannot write, a recorder creates no
//! directory, and a command finds the recorders that could.

pub(crate) mod directory;

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{access, Access};
use rustix::process::geteuid;
use trace_manager::controller::{Controller, ControllerError, SessionInfo};
use trace_protocol::control::CONTROL_SOCKET;

use crate::message::say;

pub(crate) use directory::SOCKET_NAME;
use directory::{ensure_own, OwnedDirectory};

/// The begin of the name of a recorder's directory.
const PREFIX: &str = "record-";

/// The time in which a recorder answers. Its control thread never waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A running `trace record` of this user.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Its process.
    pub(crate) pid: u32,
    /// Its session.
    pub(crate) session: SessionInfo,
    pub(crate) controller: Controller,
}

/// Creates the directory of this process. Removes those of killed ones.
///
/// # Errors
///
/// If no folder can be used: the reason of the last.
pub(crate) fn create_directory() -> io::Result<OwnedDirectory> {
    let Folder { parent, path } = Folder::of_this_user()?;
    create_folder(&parent, &path)?;
    create_in(&path)
}

/// Returns the running recorders in the folder of this user, in the order of their processes.
/// Directories of killed ones are removed, if the folder can be written.
pub(crate) fn find() -> Vec<Recorder> {
    let folders = Folder::searched(Folder::of_environment(), Folder::ensure_usable);
    let directories = folders.iter().flat_map(|folder| directories_in(&folder.path));
    let mut recorders: Vec<_> = directories.filter_map(|path| connect(&path)).collect();
    recorders.sort_by_key(|recorder| recorder.pid);
    recorders
}

/// A folder of recorders, which may not exist yet.
#[derive(Debug, PartialEq)]
struct Folder {
    parent: PathBuf,
    path: PathBuf,
}

impl Folder {
    /// Returns the folder of this user, whether it exists or not.
    fn of_this_user() -> io::Result<Self> {
        Self::first_usable(Self::of_environment())
    }

    /// Returns the folders that the variables name, in the order of preference.
    fn of_environment() -> Vec<Self> {
        let runtime = env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
        Self::candidates(runtime.map(PathBuf::from), env::temp_dir())
    }

    /// Returns the folders in the order of preference.
    fn candidates(runtime: Option<PathBuf>, temporary: PathBuf) -> Vec<Self> {
        let user = format!("trace-{}", geteuid().as_raw());
        let runtime = runtime.map(|parent| (parent, "trace"));
        let temporary = [temporary, "/tmp".into()].map(|parent| (parent, user.as_str()));
        let places = runtime.into_iter().chain(temporary);
        places.map(|(parent, name)| Self { path: parent.join(name), parent }).collect()
    }

    fn first_usable(candidates: Vec<Self>) -> io::Result<Self> {
        let mut error = io::ErrorKind::NotFound.into();
        for folder in candidates {
            match folder.ensure_usable() {
                Ok(()) => return Ok(folder),
                Err(reason) => error = reason,
            }
        }
        Err(error)
    }

    /// Returns the folders that may have recorders: the first usable one, and those before it,
    /// which other processes of this user may be able to write.
    fn searched(candidates: Vec<Self>, ensure_usable: fn(&Self) -> io::Result<()>) -> Vec<Self> {
        let mut searched = Vec::new();
        let mut found = BTreeSet::new();
        for folder in candidates {
            let is_usable = ensure_usable(&folder).is_ok();
            let is_trusted = ensure_only_owner_renames(&folder.parent).is_ok();
            if is_trusted && folder.identity().is_none_or(|identity| found.insert(identity)) {
                searched.push(folder);
            }
            if is_usable {
                break;
            }
        }
        searched
    }

    /// Returns the device and inode of the folder, if it exists: two variables may name it. A link
    /// is another one, which is not trusted.
    fn identity(&self) -> Option<(u64, u64)> {
        fs::symlink_metadata(&self.path).ok().map(|found| (found.dev(), found.ino()))
    }

    /// Fails unless the folder is one of this user that can be written, or can be created.
    fn ensure_usable(&self) -> io::Result<()> {
        ensure_only_owner_renames(&self.parent)?;
        let written = match ensure_own(&self.path) {
            Ok(()) => &self.path,
            Err(error) if error.kind() == io::ErrorKind::NotFound => &self.parent,
            Err(error) => return Err(error),
        };
        Ok(access(written, Access::WRITE_OK | Access::EXEC_OK)?)
    }
}

fn create_folder(parent: &Path, folder: &Path) -> io::Result<()> {
    ensure_only_owner_renames(parent)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        // The umask may have removed permissions.
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o700))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    ensure_own(folder)
}

/// Creates the directory of this process in a folder.
fn create_in(folder: &Path) -> io::Result<OwnedDirectory> {
    OwnedDirectory::create_in(folder, PREFIX)
}

/// Returns the directories of recorders in a folder, if that can be trusted.
fn directories_in(folder: &Path) -> Vec<PathBuf> {
    let entries = ensure_own(folder).and_then(|()| fs::read_dir(folder));
    let Ok(entries) = entries else { return Vec::new() };
    let is_recorder = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PREFIX) && ensure_own(path).is_ok()
    };
    entries.flatten().map(|entry| entry.path()).filter(is_recorder).collect()
}

/// Connects to a recorder. Returns `None` if it has ended, does not listen yet or does not answer.
fn connect(directory: &Path) -> Option<Recorder> {
    match Controller::connect(&directory.join(CONTROL_SOCKET)) {
        Ok(mut controller) => {
            let pid = controller.daemon_pid();
            controller.set_timeout(Some(PATIENCE));
            let sessions = controller.sessions().inspect_err(|error| {
                // A recorder that has just ended is none.
                if matches!(error, ControllerError::NoAnswer { .. }) {
                    say(&format!("the recorder {pid} does not answer"));
                }
            });
            controller.set_timeout(None);
            let session = sessions.ok()?.into_iter().next()?;
            Some(Recorder { pid, session, controller })
        }
        Err(ControllerError::Connect { .. }) => {
            directory::remove_if_abandoned(directory);
            None
        }
        Err(_) => None,
    }
}

/// Fails if another user could replace a directory in `parent` by their own.
pub(crate) fn ensure_only_owner_renames(parent: &Path) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    let found = fs::metadata(parent)?;
    let is_trusted = [geteuid().as_raw(), 0].contains(&found.uid());
    if is_trusted && (found.mode() & 0o022 == 0 || found.mode() & STICKY != 0) {
        return Ok(());
    }
    let reason = "other users can rename its entries";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Instant;

    use tempfile::TempDir;

    use super::*;

    /// Returns whether something holds within ten seconds.
    pub(crate) fn eventually(mut holds: impl FnMut() -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let is_so = holds();
            if is_so || Instant::now() > end {
                return is_so;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn folder_with_mode(mode: u32) -> (TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("trace");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        (place, folder)
    }

    #[test]
    fn a_folder_that_others_can_write_or_a_link_is_not_used() {
        for (mode, is_used) in [(0o700, true), (0o711, true), (0o770, false), (0o1777, false)] {
            let (place, folder) = folder_with_mode(mode);
            assert_eq!(create_folder(place.path(), &folder).is_ok(), is_used, "{mode:o}");
        }
        let (place, folder) = folder_with_mode(0o700);
        let link = place.path().join("link");
        symlink(&folder, &link).unwrap();
        let _running = create_in(&folder).unwrap();
        let error = create_folder(place.path(), &link).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!((directories_in(&folder).len(), directories_in(&link).len()), (1, 0));
    }

    #[test]
    fn only_the_first_usable_folder_counts() {
        let (runtime, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let temporary = other.path().to_path_buf();
        let first = |runtime: Option<&Path>| {
            let runtime = runtime.map(Path::to_path_buf);
            Folder::first_usable(Folder::candidates(runtime, temporary.clone())).unwrap().parent
        };
        assert_eq!(first(None), temporary);
        let fallback = Folder::candidates(None, temporary.clone()).remove(0);
        create_folder(&fallback.parent, &fallback.path).unwrap();
        // The folder of temporary files exists, and the preferred one does not yet.
        assert_eq!(first(Some(runtime.path())), runtime.path());
        let path = runtime.path().join("trace");
        create_folder(runtime.path(), &path).unwrap();
        assert_eq!(first(Some(runtime.path())), runtime.path());
        for (path, mode) in [(path.as_path(), 0o770), (runtime.path(), 0o777)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(first(Some(runtime.path())), temporary, "{mode:o} of {}", path.display());
            fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
        }
        assert_eq!(first(Some(&runtime.path().join("missing"))), temporary);
    }

    /// Root can write it all the same.
    #[test]
    fn a_folder_that_cannot_be_written_is_not_used() {
        let (place, folder) = folder_with_mode(0o500);
        let temporary = tempfile::tempdir().unwrap();
        let runtime = Some(place.path().to_path_buf());
        let candidates = Folder::candidates(runtime, temporary.path().to_path_buf());
        let expected = if geteuid().is_root() { place.path() } else { temporary.path() };
        assert_eq!(Folder::first_usable(candidates).unwrap().parent, expected);
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    }

    /// As a process that has the file system of the first folder read-only.
    #[test]
    fn recorders_are_also_searched_in_folders_that_cannot_be_written() {
        let (runtime, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let candidates =
            || Folder::candidates(Some(runtime.path().to_owned()), other.path().to_path_buf());
        let parents = |ensure_usable| -> Vec<PathBuf> {
            let searched = Folder::searched(candidates(), ensure_usable);
            searched.into_iter().map(|folder| folder.parent).collect()
        };
        assert_eq!(parents(Folder::ensure_usable), [runtime.path()]);
        let is_temporary = |folder: &Folder| match folder.path.ends_with("trace") {
            true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            false => Ok(()),
        };
        assert_eq!(parents(is_temporary), [runtime.path(), other.path()]);
        fs::set_permissions(runtime.path(), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(parents(is_temporary), [other.path()], "others can rename its entries");
    }

    /// As without `TMPDIR`, or with a link to `/tmp`.
    #[test]
    fn a_folder_with_two_names_is_searched_once() {
        let (place, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = links.path().join("link");
        symlink(place.path(), &link).unwrap();
        for second in [place.path(), &link] {
            let candidates = [place.path(), second]
                .map(|parent| Folder { path: parent.join("trace"), parent: parent.to_owned() });
            DirBuilder::new().recursive(true).create(&candidates[0].path).unwrap();
            let none_is_usable = |_: &Folder| Err(io::ErrorKind::ReadOnlyFilesystem.into());
            let searched = Folder::searched(Vec::from(candidates), none_is_usable);
            let parents: Vec<_> = searched.iter().map(|folder| folder.parent.as_path()).collect();
            assert_eq!(parents, [place.path()]);
        }
    }

    /// Anybody may create the link, and nothing is searched through it.
    #[test]
    fn a_link_does_not_hide_the_folder_that_it_names() {
        let (links, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let candidates = [links.path(), place.path()]
            .map(|parent| Folder { path: parent.join("trace"), parent: parent.to_owned() });
        DirBuilder::new().create(&candidates[1].path).unwrap();
        symlink(&candidates[1].path, &candidates[0].path).unwrap();
        let none_is_usable = |_: &Folder| Err(io::ErrorKind::ReadOnlyFilesystem.into());
        let searched = Folder::searched(Vec::from(candidates), none_is_usable);
        assert!(searched.iter().any(|folder| folder.parent == place.path()));
    }

    #[test]
    fn only_directories_of_ended_recorders_are_removed() {
        let (_place, folder) = folder_with_mode(0o700);
        let starting = create_in(&folder).unwrap();
        // No process has this id.
        let of_ended = |random: &str| folder.join(format!("record-4194305-{random}"));
        let (killed, early, with_files) =
            (of_ended("aaaaaa"), of_ended("bbbbbb"), of_ended("cccccc"));
        let (other, link) = (folder.join("insn"), of_ended("dddddd"));
        for directory in [&killed, &early, &with_files, &other] {
            DirBuilder::new().mode(0o700).create(directory).unwrap();
        }
        symlink(&other, &link).unwrap();
        for directory in [&killed, &other] {
            for socket in [CONTROL_SOCKET, SOCKET_NAME] {
                drop(std::os::unix::net::UnixListener::bind(directory.join(socket)).unwrap());
            }
        }
        fs::write(with_files.join("file"), "").unwrap();
        let found = directories_in(&folder);
        assert_eq!(found.len(), 4);
        // A child that another test has forked listens until it executes its program.
        let are_removed = || {
            assert!(found.iter().all(|path| connect(path).is_none()));
            !killed.exists() && !early.exists()
        };
        assert!(eventually(are_removed));
        assert!(with_files.exists());
        assert!(starting.path().exists() && other.join(CONTROL_SOCKET).exists());
        assert!(link.symlink_metadata().is_ok());
    }
}
