//! Where programs find the session.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::process::geteuid;
use tempfile::TempDir;
use trace_protocol::socket::default_socket_path;

use crate::cli::RecordArgs;
use crate::message::HINT;

/// The name of the socket in a private directory.
pub(crate) const SOCKET_NAME: &str = "manager.sock";

/// The socket of a session. Dropping it removes a private socket.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    private: Option<TempDir>,
}

impl Place {
    /// Chooses a private directory if there is a command. Without a command, chooses the default
    /// socket, where programs look by themselves.
    pub(super) fn choose(args: &RecordArgs) -> Result<Self> {
        match &args.socket {
            Some(path) => Ok(Self { path: path.clone(), private: None }),
            None if args.command.is_empty() => {
                Ok(Self { path: default_socket_path(), private: None })
            }
            None => Self::private(),
        }
    }

    fn private() -> Result<Self> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let places = [Some(std::env::temp_dir()), Some("/tmp".into())];
        let mut places = [runtime].into_iter().chain(places).flatten();
        let parent = places.find(|path| ensure_only_owner_renames(path).is_ok());
        let parent = parent.unwrap_or_else(std::env::temp_dir);
        let directory = private_in(&parent).with_context(|| {
            format!(
                "cannot create a directory for the session's socket in '{}'{HINT}name a socket \
                 with --socket",
                parent.display()
            )
        })?;
        Ok(Self { path: directory.path().join(SOCKET_NAME), private: Some(directory) })
    }

    /// Returns the private directory, which is removed when this is dropped.
    pub(super) fn private_directory(&self) -> Option<&Path> {
        self.private.as_ref().map(TempDir::path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates a directory that only this user can access, whatever the umask is.
fn private_in(parent: &Path) -> io::Result<TempDir> {
    ensure_only_owner_renames(parent)?;
    let only_mine = Permissions::from_mode(0o700);
    let mut builder = tempfile::Builder::new();
    let directory = builder.prefix("trace-").permissions(only_mine.clone()).tempdir_in(parent)?;
    // The umask may have removed permissions, and the parent's access control list may have added
    // some.
    fs::set_permissions(directory.path(), only_mine)?;
    Ok(directory)
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
