//! Where the privileged helper is.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The socket of the privileged helper, if systemd starts it.
pub const DEFAULT_SOCKET: &str = "/run/trace/kernel.sock";

/// How the privileged helper is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// By a socket.
    Socket(PathBuf),
    /// By a command that serves its standard input: a program and its arguments.
    Command(Vec<String>),
}

impl Server {
    /// Parses the path of a socket, or a command with its arguments, separated by spaces.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match words.len() {
            0 | 1 => Self::Socket(text.into()),
            _ => Self::Command(words),
        }
    }

    /// Returns whether it may be there.
    pub(in crate::live) fn exists(&self) -> bool {
        match self {
            Self::Socket(path) => is_socket(path),
            Self::Command(_) => true,
        }
    }
}

fn is_socket(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_commands() {
        assert_eq!(Server::parse("/run/a.sock"), Server::Socket("/run/a.sock".into()));
        let words = ["sudo", "-n", "trace", "kernel-server"].map(str::to_owned);
        assert_eq!(Server::parse("sudo -n  trace kernel-server"), Server::Command(words.into()));
        assert!(!Server::parse("/none").exists() && !Server::parse("").exists());
    }
}
