//! Where programs and other commands find the session.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, Error, Result};
use trace_protocol::socket::default_socket_path;

use crate::cli::RecordArgs;
use crate::message::HINT;
use crate::recorders::directory::OwnedDirectory;
use crate::recorders::{self, ensure_only_owner_renames, SOCKET_NAME};

/// The begin of the name of a directory outside of the user's folder.
const PREFIX: &str = "trace-record-";

/// The sockets of a session. Dropping it removes the private ones.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    private: Option<OwnedDirectory>,
}

impl Place {
    /// Creates a private directory. Programs look there if there is a command; without one, at the
    /// default socket.
    pub(super) fn choose(args: &RecordArgs) -> Result<Self> {
        let private = recorders::create_directory();
        if let Err(error) = &private {
            super::note(args, &format!("other commands do not find this recording: {error}"));
        }
        match &args.socket {
            Some(path) => Ok(Self { path: path.clone(), private: private.ok() }),
            None if args.command.is_empty() => {
                Ok(Self { path: default_socket_path(), private: private.ok() })
            }
            None => {
                let directory = private.or_else(|_| other_directory())?;
                Ok(Self { path: directory.path().join(SOCKET_NAME), private: Some(directory) })
            }
        }
    }

    /// Returns the private directory, which is removed when this is dropped.
    pub(super) fn private_directory(&self) -> Option<&Path> {
        self.private.as_ref().map(OwnedDirectory::path)
    }

    /// Returns the socket where programs register.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates a private directory that only the command finds.
fn other_directory() -> Result<OwnedDirectory> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let places = [std::env::temp_dir(), "/tmp".into()];
    private_in_first(runtime.map(PathBuf::from).into_iter().chain(places))
}

/// Creates a private directory in the first of `places` where that succeeds.
fn private_in_first(places: impl IntoIterator<Item = PathBuf>) -> Result<OwnedDirectory> {
    let mut failure = anyhow!("there is no place");
    for parent in places {
        match private_in(&parent) {
            Ok(directory) => return Ok(directory),
            Err(error) => {
                failure = Error::new(error).context(format!(
                    "cannot create a directory for the session's socket in '{}'{HINT}name a socket \
                     with --socket",
                    parent.display()
                ));
            }
        }
    }
    Err(failure)
}

/// Creates a directory of this process. Removes those of killed recorders.
fn private_in(parent: &Path) -> io::Result<OwnedDirectory> {
    ensure_only_owner_renames(parent)?;
    OwnedDirectory::create_in(parent, PREFIX)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A full file system fails at the same step as a parent that is a file.
    #[test]
    fn the_directory_is_in_the_first_place_that_can_take_one() {
        let place = tempfile::tempdir().unwrap();
        let (missing, file) = (place.path().join("missing"), place.path().join("file"));
        fs::write(&file, "").unwrap();
        let used = place.path().to_path_buf();
        let directory = private_in_first([missing, file.clone(), used.clone()]).unwrap();
        assert_eq!(directory.path().parent(), Some(used.as_path()));
        let reason = private_in_first([file.clone()]).unwrap_err().to_string();
        assert!(reason.contains(&format!("'{}'", file.display())), "{reason}");
    }
}
