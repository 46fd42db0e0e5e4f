//! The sockets of the daemon.

use std::env;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use listenfd::ListenFd;
use rustix::fs::OFlags;
use rustix::io::{fcntl_setfd, FdFlags};
use rustix::process::geteuid;
use trace_manager::controller::control_socket_path;
use trace_manager::ManagerError;
use trace_protocol::control::CONTROL_SOCKET;
use trace_protocol::socket::{default_socket_path, Listener};

use crate::message::HINT;
use crate::recorders::{ensure_only_owner_renames, SOCKET_NAME};

/// The permissions of the folder and the sockets.
struct Modes {
    folder: u32,
    registration: u32,
    control: u32,
}

/// A user's daemon serves this user only.
const OF_USER: Modes = Modes { folder: 0o700, registration: 0o600, control: 0o600 };

/// Any program may register with the system's daemon, and is recorded only by its user and root.
const OF_SYSTEM: Modes = Modes { folder: 0o711, registration: 0o666, control: 0o660 };

/// The folder of the system's daemon, unless another one is named.
const SYSTEM_FOLDER: &str = "/run/trace";

/// The permission of other users to reach the sockets in a folder.
const SEARCH: u32 = 0o011;

/// The sockets of the daemon.
#[derive(Debug)]
pub(super) struct Places {
    /// Where programs register.
    pub(super) registration: Listener,
    pub(super) control: Listener,
}

impl Places {
    /// Takes the sockets of systemd, or creates them in one folder.
    pub(super) fn open(socket: Option<&Path>) -> Result<Self> {
        if let Some(places) = Self::inherited()? {
            return Ok(places);
        }
        let registration = registration_path(socket)?;
        let control = control_socket_path(&registration);
        let modes = if geteuid().is_root() { OF_SYSTEM } else { OF_USER };
        create_folder(&registration, &modes)?;
        let listen = |path: &Path, mode| {
            Listener::bind_with_mode(path, mode)
                .map_err(|source| ManagerError::Bind { path: path.to_owned(), source })
        };
        let registration = listen(&registration, modes.registration)?;
        Ok(Self { registration, control: listen(&control, modes.control)? })
    }

    /// Returns the sockets that systemd has created, if it has. The file names tell them apart.
    fn inherited() -> Result<Option<Self>> {
        let mut sockets = ListenFd::from_env();
        let (mut registration, mut control) = (None, None);
        for index in 0..sockets.len() {
            let socket = sockets.take_unix_listener(index).context("cannot use LISTEN_FDS")?;
            let listener = socket.map(inherited).transpose().context("cannot use LISTEN_FDS")?;
            match listener {
                Some(it) if it.path().file_name() == Some(CONTROL_SOCKET.as_ref()) => {
                    control = Some(it);
                }
                it => registration = it.or(registration),
            }
        }
        match (registration, control) {
            (Some(registration), Some(control)) => Ok(Some(Self { registration, control })),
            (None, None) => Ok(None),
            _ => bail!("LISTEN_FDS has one socket{HINT}it needs manager.sock and control.sock"),
        }
    }
}

fn inherited(socket: UnixListener) -> io::Result<Listener> {
    let path = socket.local_addr()?.as_pathname().map(Path::to_owned).unwrap_or_default();
    let socket = OwnedFd::from(socket);
    // Guards must not inherit it.
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Listener::from_bound(socket, path)
}

/// Returns the path where programs register.
pub(super) fn registration_path(socket: Option<&Path>) -> Result<PathBuf> {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    match socket {
        Some(path) if path.file_name() == Some(CONTROL_SOCKET.as_ref()) => {
            bail!("{CONTROL_SOCKET} is the name of the control socket, which is beside this one")
        }
        Some(path) => Ok(path.to_owned()),
        None if is_set("TRACE_SOCKET") => Ok(default_socket_path()),
        None if geteuid().is_root() => Ok(Path::new(SYSTEM_FOLDER).join(SOCKET_NAME)),
        None if is_set("XDG_RUNTIME_DIR") => Ok(default_socket_path()),
        None => bail!("XDG_RUNTIME_DIR is not set{HINT}name a socket with --socket"),
    }
}

/// Creates the folder of the sockets, if it is missing. Fails if other users could replace them.
fn create_folder(socket: &Path, modes: &Modes) -> Result<()> {
    let folder = match socket.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = || format!("cannot use the folder {}", folder.display());
    match DirBuilder::new().mode(modes.folder).create(folder) {
        // The umask may have removed permissions.
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(modes.folder))
            .with_context(failed)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(failed),
    }
    ensure_only_owner_renames(folder).with_context(failed)?;
    if modes.folder & SEARCH != 0 {
        open_to_others(folder);
    }
    Ok(())
}

/// Lets other users reach the sockets of the system's daemon in a folder that exists. A recorder of
/// root may have created the default one for root alone. Others stay as their owner has made them.
fn open_to_others(folder: &Path) {
    let is_open = match folder == Path::new(SYSTEM_FOLDER) {
        true => widen(folder),
        false => fs::metadata(folder).map(|found| found.mode() & SEARCH == SEARCH),
    };
    if !is_open.unwrap_or(false) {
        let folder = folder.display();
        log::warn!(
            "other users cannot reach the sockets in {folder}: their programs are not recorded\
             {HINT}chmod 711 {folder}"
        );
    }
}

/// Lets other users search a directory of this user. Returns false if it is another user's. A link
/// is not followed.
fn widen(folder: &Path) -> io::Result<bool> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder = File::options().read(true).custom_flags(flags.bits() as i32).open(folder)?;
    let found = folder.metadata()?;
    let mode = found.mode() & 0o7777;
    if mode & SEARCH == SEARCH {
        return Ok(true);
    }
    if found.uid() != geteuid().as_raw() {
        return Ok(false);
    }
    folder.set_permissions(Permissions::from_mode(mode | SEARCH))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_folder_of_this_user_is_opened_to_others() {
        let place = tempfile::tempdir().unwrap();
        let (folder, link) = (place.path().join("trace"), place.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        let mode = || fs::metadata(&folder).unwrap().mode() & 0o7777;
        for (before, after) in [(0o700, 0o711), (0o750, 0o751), (0o755, 0o755)] {
            fs::set_permissions(&folder, Permissions::from_mode(before)).unwrap();
            assert!(before == 0o755 || widen(&link).is_err());
            assert_eq!(mode(), before);
            assert!(widen(&folder).unwrap());
            assert_eq!(mode(), after);
        }
    }

    #[test]
    fn a_folder_that_is_not_the_default_one_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o700)).unwrap();
        let socket = place.path().join(SOCKET_NAME);
        create_folder(&socket, &OF_USER).unwrap();
        create_folder(&socket, &OF_SYSTEM).unwrap();
        let found = fs::metadata(place.path()).unwrap();
        assert_eq!(found.mode() & 0o777, 0o700);
    }
}
