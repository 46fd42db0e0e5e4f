//! Where programs find the session.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;
use trace_protocol::socket::default_socket_path;

use crate::cli::RecordArgs;

/// What the socket in a private place is called.
pub(crate) const SOCKET_NAME: &str = "manager.sock";

/// The socket of a session; a private one goes away with this.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    private: Option<TempDir>,
}

impl Place {
    /// A private place for a command and its children, and for others the one where programs look
    /// by themselves.
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
        let runtime =
            std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        let parent = runtime.unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::Builder::new().prefix("trace-").tempdir_in(&parent).with_context(|| {
            format!("cannot make a directory for the session's socket in '{}'; name a socket with --socket", parent.display())
        })?;
        Ok(Self { path: directory.path().join(SOCKET_NAME), private: Some(directory) })
    }

    /// The directory that goes away with this.
    pub(super) fn private_directory(&self) -> Option<&Path> {
        self.private.as_ref().map(TempDir::path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
