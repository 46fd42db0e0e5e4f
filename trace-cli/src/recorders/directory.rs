//! Directories that belong to a process while it runs.
//!
//! The process has a lock on its directory (flock(2)), which ends with the process however that
//! ends. A directory without a lock is one of a killed process, whatever process has its id now.
//! Where locks are those of one machine, as on network file systems, directories stay.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process;

use rustix::fs::{flock, statfs, FlockOperation, OFlags};
use rustix::io::Errno;
use rustix::net::{
    connect_unix, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
};
use rustix::process::{geteuid, test_kill_process, Pid};
use tempfile::TempDir;
use trace_protocol::control::CONTROL_SOCKET;

/// The name of the socket where programs register.
pub(crate) const SOCKET_NAME: &str = "manager.sock";

/// The number of random characters at the end of a name.
const RANDOM: usize = 6;

/// The most directories that are created for one process.
const TRIES: usize = 16;

/// The file systems whose locks are known to be those of one machine, by their numbers in
/// statfs(2): tmpfs, ext2 to ext4, XFS, Btrfs, F2FS, ZFS, overlayfs, ramfs.
const LOCAL: [u64; 8] = [
    0x0102_1994,
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0x794c_7630,
    0x8584_58f6,
];

/// A directory of this process, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnedDirectory {
    directory: TempDir,
    /// `None` if the file system has no locks.
    _lock: Option<File>,
}

impl OwnedDirectory {
    /// Creates a directory in `parent` that only this user can access, whatever the umask is. Its
    /// name begins with `prefix` and the process id. Removes those of killed processes.
    pub(crate) fn create_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        remove_abandoned(parent, prefix);
        for _ in 0..TRIES {
            // Another process may find it before it is locked.
            if let Some(created) = Self::try_create_in(parent, prefix)? {
                return Ok(created);
            }
        }
        Err(io::Error::other(format!("directories in {} are removed at once", parent.display())))
    }

    /// Returns `None` if another process removes the directory before it is locked.
    fn try_create_in(parent: &Path, prefix: &str) -> io::Result<Option<Self>> {
        let only_mine = Permissions::from_mode(0o700);
        let mut builder = tempfile::Builder::new();
        let prefix = format!("{prefix}{}-", process::id());
        let directory = builder
            .prefix(&prefix)
            .rand_bytes(RANDOM)
            .permissions(only_mine.clone())
            .tempdir_in(parent)?;
        let path = directory.path();
        let locked = || -> io::Result<Option<File>> {
            // The umask may have removed permissions, and the parent's access control list may have
            // added some.
            fs::set_permissions(path, only_mine)?;
            lock(path)
        };
        match locked() {
            Ok(lock) => Ok(Some(Self { directory, _lock: lock })),
            Err(error) if is_removed(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Returns whether an error is that of a directory that another process removes.
fn is_removed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
}

/// Locks a directory. Returns `None` if the file system has no locks.
///
/// # Errors
///
/// `WouldBlock` if another process has the lock, `NotFound` if the directory has been removed.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::BADF | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    let (opened, named) = (file.metadata()?, fs::symlink_metadata(path)?);
    match (opened.dev(), opened.ino()) == (named.dev(), named.ino()) {
        true => Ok(Some(file)),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Removes the directories of killed processes in `parent` whose names begin with `prefix`.
fn remove_abandoned(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let has_name = entry.file_name().to_string_lossy().starts_with(prefix);
        if has_name && ensure_own(&path).is_ok() {
            remove_if_abandoned(&path);
        }
    }
}

/// Removes a directory and its sockets if no process has it, and a recorder has created it.
pub(crate) fn remove_if_abandoned(path: &Path) {
    if !has_own_locks(path) || !is_of_recorder(path) {
        return;
    }
    if let Ok(Some(_lock)) = lock(path) {
        if !is_listening(path) {
            remove(path);
        }
    }
}

/// Returns whether a recorder has created a directory, which may also be a user's own of a similar
/// name: it has a socket, or it has the id of a process that has ended.
fn is_of_recorder(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(id) = process_of(&name) else { return false };
    let has = |socket: &&str| path.join(socket).symlink_metadata().is_ok();
    [SOCKET_NAME, CONTROL_SOCKET].iter().any(has) || test_kill_process(id) == Err(Errno::SRCH)
}

/// Returns the process id in a name of [`OwnedDirectory`], such as `record-4242-Xq3bTw`.
fn process_of(name: &str) -> Option<Pid> {
    let (rest, random) = name.rsplit_once('-')?;
    let (_, id) = rest.rsplit_once('-')?;
    let is_random = random.len() == RANDOM && random.chars().all(|c| c.is_ascii_alphanumeric());
    let is_number = id.starts_with(|c| matches!(c, '1'..='9'));
    Pid::from_raw(id.parse().ok().filter(|_| is_random && is_number)?)
}

/// Returns whether the processes that have locks in a file system are those of this machine.
fn has_own_locks(path: &Path) -> bool {
    statfs(path).is_ok_and(|found| LOCAL.contains(&(found.f_type as u64 & 0xffff_ffff)))
}

/// Returns whether a process listens on a socket of a directory. Those of earlier versions have no
/// lock.
fn is_listening(path: &Path) -> bool {
    let is_listening = |name: &&str| {
        let Ok(address) = SocketAddrUnix::new(path.join(name)) else { return true };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let found = socket.and_then(|socket| connect_unix(&socket, &address));
        !matches!(found, Err(Errno::NOENT | Errno::CONNREFUSED))
    };
    [SOCKET_NAME, CONTROL_SOCKET].iter().any(is_listening)
}

/// Removes a directory with its sockets, and with its hidden files, which are not complete. One
/// with other files stays.
pub(crate) fn remove(path: &Path) {
    // The sockets are missing if the recording has ended in order, and others if there are none.
    for name in [SOCKET_NAME, CONTROL_SOCKET] {
        let _ = fs::remove_file(path.join(name));
    }
    let is_hidden = |it: &fs::DirEntry| it.file_name().as_encoded_bytes().starts_with(b".");
    for hidden in fs::read_dir(path).into_iter().flatten().flatten().filter(is_hidden) {
        let _ = fs::remove_file(hidden.path());
    }
    let _ = fs::remove_dir(path);
}

/// Fails unless `path` is a directory of this user that no other user can write. Links are not
/// followed.
pub(super) fn ensure_own(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
    if is_own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let reason = format!("{} is not a directory of this user alone", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::recorders::tests::eventually;

    #[test]
    fn directories_of_killed_processes_are_removed_by_the_next_start() {
        let place = tempfile::tempdir().unwrap();
        let create = |prefix| OwnedDirectory::create_in(place.path(), prefix).unwrap();
        let running = create("record-");
        drop(UnixListener::bind(running.path().join(SOCKET_NAME)).unwrap());
        // The kernel unlocks the directory of a killed process, which cannot remove it.
        let OwnedDirectory { directory, _lock } = create("record-");
        let killed = directory.keep();
        drop(UnixListener::bind(killed.join(SOCKET_NAME)).unwrap());
        fs::write(killed.join(".snapshot-1.fxt"), "not complete").unwrap();
        let other = place.path().join("other-1");
        let link = place.path().join("record-link");
        fs::create_dir(&other).unwrap();
        symlink(&other, &link).unwrap();
        let kept = place.path().join("record-with-file");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        let locked = create("record-");
        assert!(killed.exists(), "it is locked");
        drop((_lock, locked));
        // A child that another test has forked has the locks until it executes its program.
        let is_removed = || {
            let _next = create("record-");
            !killed.exists()
        };
        assert!(eventually(is_removed));
        assert!(running.path().join(SOCKET_NAME).exists());
        assert!(other.exists() && link.symlink_metadata().is_ok());
        assert!(kept.join("file").exists(), "it has files of others");
    }

    /// A directory of a process whose id no process has.
    const ENDED: &str = "record-4194305-aB3dE6";

    #[test]
    fn directories_that_no_recorder_has_created_stay() {
        let place = tempfile::tempdir().unwrap();
        let own = format!("record-{}-aB3dE6", process::id());
        let others =
            ["record-aB3dE6", "record-4194305-aB3d", "record-4194305-aB3d.6", "record-x", &own];
        for name in others.into_iter().chain([ENDED]) {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        remove_abandoned(place.path(), "record-");
        assert!(others.iter().all(|name| place.path().join(name).exists()));
        assert!(!place.path().join(ENDED).exists());
        // The id is used again.
        drop(UnixListener::bind(place.path().join(&own).join(SOCKET_NAME)).unwrap());
        let is_removed = || {
            remove_abandoned(place.path(), "record-");
            !place.path().join(&own).exists()
        };
        assert!(eventually(is_removed));
    }

    /// Recorders of earlier versions have no locks.
    #[test]
    fn directories_of_processes_that_listen_stay() {
        for name in [SOCKET_NAME, CONTROL_SOCKET] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join(ENDED);
            fs::create_dir(&path).unwrap();
            let listener = UnixListener::bind(path.join(name)).unwrap();
            remove_abandoned(place.path(), "record-");
            assert!(path.join(name).exists());
            drop(listener);
            // A child that another test has forked listens until it executes its program.
            let is_removed = || {
                remove_abandoned(place.path(), "record-");
                !path.exists()
            };
            assert!(eventually(is_removed));
        }
    }

    #[test]
    fn a_directory_that_is_removed_before_it_is_locked_is_none() {
        let place = tempfile::tempdir().unwrap();
        let (path, missing) = (place.path().join("a"), place.path().join("b"));
        fs::create_dir(&path).unwrap();
        let _held = lock(&path).unwrap().unwrap();
        for path in [&path, &missing] {
            assert!(is_removed(&lock(path).unwrap_err()), "{}", path.display());
        }
    }
}
