//! The errors of a controller.

use std::fmt;
use std::io;
use std::path::PathBuf;

use trace_protocol::control::ControlError;
use trace_protocol::error::ProtocolError;

/// The error of a request to a daemon.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControllerError {
    /// No daemon could be reached.
    Connect {
        /// The path of the control socket.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The daemon runs as another user, who is not root.
    Untrusted {
        /// The user.
        uid: u32,
    },
    /// The daemon has refused the request.
    Refused(ControlError),
    /// The daemon has closed the connection, for this reason if it is known.
    Closed(Option<String>),
    /// The daemon has not answered within the time of
    /// [`Controller::set_timeout`](super::Controller::set_timeout).
    NoAnswer {
        /// Its process.
        pid: u32,
    },
    /// The socket failed.
    Io(io::Error),
    /// The daemon has sent a malformed message.
    Protocol(ProtocolError),
    /// The reply does not match the request.
    Unexpected {
        /// The kind of the reply.
        kind: u16,
    },
}

impl From<ProtocolError> for ControllerError {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl fmt::Display for ControllerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { path, source } => {
                let path = path.display();
                write!(f, "cannot reach a daemon at {path}: {source}{}", hint(source.kind()))
            }
            Self::Untrusted { uid } => {
                write!(f, "the daemon runs as user {uid}, neither as root nor as this user")
            }
            Self::Refused(error) => error.fmt(f),
            Self::Closed(None) => write!(f, "the daemon has closed the connection"),
            Self::Closed(Some(reason)) => {
                write!(f, "the daemon has closed the connection: {reason}")
            }
            // The service manager has created its socket.
            Self::NoAnswer { pid: 1 } => write!(f, "the daemon does not answer"),
            Self::NoAnswer { pid } => write!(
                f,
                "the daemon, process {pid}, does not answer\nhint: if it is stopped, continue it \
                 with kill -CONT {pid}"
            ),
            Self::Io(error) => write!(f, "the connection to the daemon failed: {error}"),
            Self::Protocol(error) => write!(f, "malformed message of the daemon: {error}"),
            Self::Unexpected { kind } => {
                write!(f, "unexpected reply of the daemon: message kind {kind:#x}")
            }
        }
    }
}

fn hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            "\nhint: start one with trace daemon, or name its socket with --socket"
        }
        io::ErrorKind::PermissionDenied => "\nhint: this daemon accepts root and its group only",
        _ => "",
    }
}

// The texts include the error of the system call, so there is no source.
impl std::error::Error for ControllerError {}
