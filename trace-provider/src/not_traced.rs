//! The reasons for which a process is not traced.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The reason why a process is not traced although it has called `init`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotTraced {
    /// A thread of the tracer could not be started, or its memory not allocated. The error's kind
    /// is `ResourceBusy` while the service thread of an earlier provider has not ended: try again
    /// later.
    Start(Arc<io::Error>),
    /// The tracer could not create its own file descriptor table. It requires Linux 5.9, or
    /// `/proc`.
    Descriptors(Arc<io::Error>),
    /// The manager runs as a user that this process does not accept. See `Builder::manager_uid`.
    ManagerUser {
        /// The socket of the manager.
        socket: PathBuf,
        /// The user id of the manager.
        uid: u32,
    },
    /// The manager refuses this process because a limit is reached. The process tries again later.
    Refused {
        /// The socket of the manager.
        socket: PathBuf,
        /// The manager's reason.
        reason: String,
    },
    /// The manager violated the protocol, so the connection was closed.
    Manager {
        /// The socket of the manager.
        socket: PathBuf,
        /// The violation.
        problem: &'static str,
    },
    /// The archive of a process that traces itself cannot be written.
    Output {
        /// The path of the archive. Its placeholders are replaced, unless one of them is invalid.
        path: PathBuf,
        /// The error of the operating system.
        error: Arc<io::Error>,
    },
}

#[cfg(target_os = "linux")]
impl NotTraced {
    pub(crate) fn start(error: io::Error) -> Self {
        Self::Start(Arc::new(error))
    }

    pub(crate) fn descriptors(error: io::Error) -> Self {
        Self::Descriptors(Arc::new(error))
    }
}

impl fmt::Display for NotTraced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "cannot start the tracer: {error}"),
            Self::Descriptors(error) => {
                write!(f, "cannot create the tracer's file descriptor table: {error}")
            }
            Self::ManagerUser { socket, uid } => write!(
                f,
                "the manager at {} runs as user {uid}, which is neither root nor this process's user",
                socket.display()
            ),
            Self::Refused { socket, reason } => {
                write!(f, "the manager at {} refuses this process: {reason}", socket.display())
            }
            Self::Manager { socket, problem } => {
                write!(f, "the manager at {} is refused: {problem}", socket.display())
            }
            Self::Output { path, error } => {
                write!(f, "cannot write the archive {}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for NotTraced {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(error) | Self::Descriptors(error) | Self::Output { error, .. } => {
                Some(error.as_ref())
            }
            Self::ManagerUser { .. } | Self::Manager { .. } | Self::Refused { .. } => None,
        }
    }
}
