//! The private directories of recorders, and their control sockets.
//!
//! Each `trace record` has a directory `record-PID-…` in a folder of its user, and listens on
//! `control.sock` in it. Other commands of the user find it there.
//!
//! ```text
//! $XDG_RUNTIME_DIR/trace/           0700, of this user
//!   record-4242-Xq3bTw/             0700, of this user
//!     control.sock                  0600
//!     manager.sock                  if the recorded command has a private socket
//! ```
//!
//! Without `XDG_RUNTIME_DIR`, the folder is `trace-UID` in the directory of temporary files, or in
//! `/tmp`. A folder that another user owns or can write, or a link, is not used.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, process};

use rustix::io::Errno;
use rustix::process::{geteuid, test_kill_process, Pid};
use tempfile::TempDir;
use trace_manager::controller::{Controller, ControllerError, SessionInfo};
use trace_protocol::control::CONTROL_SOCKET;

use crate::message::say;

/// The name of the socket where programs register, in a private directory.
pub(crate) const SOCKET_NAME: &str = "manager.sock";

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

/// Creates the directory of this process in the first folder that can be used. It is removed when
/// the result is dropped.
///
/// # Errors
///
/// That of the last folder.
pub(crate) fn create_directory() -> io::Result<TempDir> {
    let mut error = None;
    for (parent, folder) in folders() {
        match create_folder(&parent, &folder).and_then(|()| create_in(&folder)) {
            Ok(directory) => return Ok(directory),
            Err(failed) => error = Some(failed),
        }
    }
    Err(error.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

/// Removes the directory of a recorder that was killed.
pub(crate) fn remove_directory(path: &Path) {
    // The sockets are missing if the recording has ended in order, and others if there are none.
    for name in [SOCKET_NAME, CONTROL_SOCKET] {
        let _ = fs::remove_file(path.join(name));
    }
    let _ = fs::remove_dir(path);
}

/// Returns the running recorders of this user, in the order of their processes. Directories of
/// killed ones are removed.
pub(crate) fn find() -> Vec<Recorder> {
    let directories = folders().into_iter().flat_map(|(_, folder)| directories_in(&folder));
    let mut recorders: Vec<_> = directories.filter_map(|path| connect(&path)).collect();
    recorders.sort_by_key(|recorder| recorder.pid);
    recorders
}

/// Returns the folders of this user in the order of preference, and their parents.
fn folders() -> Vec<(PathBuf, PathBuf)> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let runtime = runtime.map(PathBuf::from);
    let runtime = runtime.map(|parent| (parent.clone(), parent.join("trace")));
    let name = format!("trace-{}", geteuid().as_raw());
    let mut temporary = vec![env::temp_dir(), "/tmp".into()];
    temporary.dedup();
    let temporary = temporary.into_iter().map(|parent| (parent.clone(), parent.join(&name)));
    runtime.into_iter().chain(temporary).collect()
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

/// Creates a directory that only this user can access, whatever the umask is.
fn create_in(folder: &Path) -> io::Result<TempDir> {
    let only_mine = Permissions::from_mode(0o700);
    let prefix = format!("{PREFIX}{}-", process::id());
    let mut builder = tempfile::Builder::new();
    let directory = builder.prefix(&prefix).permissions(only_mine.clone()).tempdir_in(folder)?;
    // The umask may have removed permissions, and the folder's access control list may have added
    // some.
    fs::set_permissions(directory.path(), only_mine)?;
    Ok(directory)
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
                if matches!(error, ControllerError::Io(it) if it.kind() == io::ErrorKind::TimedOut)
                {
                    say(&format!("the recorder {pid} does not answer"));
                }
            });
            controller.set_timeout(None);
            let session = sessions.ok()?.into_iter().next()?;
            Some(Recorder { pid, session, controller })
        }
        Err(ControllerError::Connect { source, .. }) => {
            match source.kind() {
                // The socket gets its name when it listens, so this one has no process any more.
                io::ErrorKind::ConnectionRefused => remove_directory(directory),
                // It fails if there are files.
                io::ErrorKind::NotFound if !is_running(directory) => {
                    let _ = fs::remove_dir(directory);
                }
                _ => {}
            }
            None
        }
        Err(_) => None,
    }
}

/// Returns whether the process in the name of a directory may be running.
fn is_running(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
    let process = process.and_then(|process| process.parse().ok()).and_then(Pid::from_raw);
    process.is_none_or(|process| test_kill_process(process) != Err(Errno::SRCH))
}

/// Fails unless `path` is a directory of this user that no other user can write. Links are not
/// followed.
fn ensure_own(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
    if is_own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let reason = format!("{} is not a directory of this user alone", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
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
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

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
        let _kept = create_in(&folder).unwrap().keep();
        let error = create_folder(place.path(), &link).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!((directories_in(&folder).len(), directories_in(&link).len()), (1, 0));
    }

    #[test]
    fn only_directories_of_recorders_are_removed_if_nobody_listens() {
        let (_place, folder) = folder_with_mode(0o700);
        let new = format!("record-{}-b", process::id());
        let (stale, new) = (folder.join("record-1-a"), folder.join(new));
        let (other, link) = (folder.join("insn"), folder.join("record-3-c"));
        for directory in [&stale, &new, &other] {
            DirBuilder::new().mode(0o700).create(directory).unwrap();
        }
        symlink(&other, &link).unwrap();
        for directory in [&stale, &other] {
            let socket = directory.join(CONTROL_SOCKET);
            drop(std::os::unix::net::UnixListener::bind(socket).unwrap());
        }
        let found = directories_in(&folder);
        assert!(found.iter().all(|path| connect(path).is_none()));
        assert_eq!(found.len(), 2);
        assert!(!stale.exists() && new.exists() && other.join(CONTROL_SOCKET).exists());
        assert!(link.symlink_metadata().is_ok());
    }

    #[test]
    fn empty_directories_of_ended_recorders_are_removed() {
        let (_place, folder) = folder_with_mode(0o700);
        // The highest process id of the kernel is 2^22.
        let ended = folder.join("record-2147483647-a");
        let running = folder.join(format!("record-{}-b", process::id()));
        let unknown = folder.join("record-x");
        for directory in [&ended, &running, &unknown] {
            DirBuilder::new().mode(0o700).create(directory).unwrap();
            assert!(connect(directory).is_none());
        }
        assert!(!ended.exists() && running.exists() && unknown.exists());
        DirBuilder::new().mode(0o700).create(&ended).unwrap();
        fs::write(ended.join("file"), "").unwrap();
        assert!(connect(&ended).is_none() && ended.exists());
    }
}
