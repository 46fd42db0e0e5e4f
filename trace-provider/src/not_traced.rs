//! Why a process is not traced.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The reason why a process is not traced although it has called `init`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotTraced {
    /// Threads or memory of the tracer are missing.
    Start(Arc<io::Error>),
    /// The tracer cannot get file descriptors that it does not share with the program. It needs
    /// Linux 5.9, or `/proc`.
    Descriptors(Arc<io::Error>),
    /// The manager runs as a user that this process does not accept; see `Builder::manager_uid`.
    ManagerUser {
        /// The socket of the manager.
        socket: PathBuf,
        /// The user of the manager.
        uid: u32,
    },
    /// The manager refuses this process, because a limit is reached. The process asks again later.
    Refused {
        /// The socket of the manager.
        socket: PathBuf,
        /// The reason that the manager gives.
        reason: String,
    },
    /// The manager has sent something that it must not send.
    Manager {
        /// The socket of the manager.
        socket: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The archive that the process should write itself cannot be written.
    Output {
        /// The archive.
        path: PathBuf,
        /// The reason.
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
                write!(f, "cannot get file descriptors of the tracer's own: {error}")
            }
            Self::ManagerUser { socket, uid } => write!(
                f,
                "the manager at {} runs as user {uid}, which is neither root nor this process's user",
                socket.display()
            ),
            Self::Refused { socket, reason } => {
                write!(f, "the manager at {} refuses it: {reason}", socket.display())
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
