//! The manager's end of the registration socket.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::address::Address;
use super::Socket;
use crate::file::random_name;
use crate::sys::{retry, sockets};

/// A socket that providers connect to. Its file is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    path: PathBuf,
    /// Device and inode of the file, so that the file of another manager is never removed.
    identity: Option<(u64, u64)>,
}

impl Listener {
    /// Binds to `path` and listens. A stale socket, without a listener, is replaced.
    ///
    /// # Errors
    ///
    /// `AddrInUse` if another manager listens there, or a file that is not a socket exists.
    /// `NotFound` if the directory is missing. `PermissionDenied`.
    pub fn bind(path: &Path) -> io::Result<Self> {
        Self::bind_with(path, None)
    }

    /// Binds as [`bind`](Self::bind) does. Users need write permission in `mode` to connect.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub fn bind_with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        Self::bind_with(path, Some(mode))
    }

    /// Wraps a socket that listens already, such as one of systemd. Its file is kept on drop.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is not a Unix stream socket that listens.
    pub fn from_bound(fd: OwnedFd, path: PathBuf) -> io::Result<Self> {
        let option = |name| sockets::option(fd.as_fd(), name);
        let (domain, kind) = (option(libc::SO_DOMAIN)?, option(libc::SO_TYPE)?);
        let listens = option(libc::SO_ACCEPTCONN)?;
        match (domain, kind, listens) {
            (libc::AF_UNIX, libc::SOCK_STREAM, 1) => Ok(Self { fd, path, identity: None }),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn bind_with(path: &Path, mode: Option<u32>) -> io::Result<Self> {
        // It listens before it gets its name, because waiting providers connect as soon as the name
        // exists.
        let (unnamed, fd) = listen_beside(path)?;
        let permitted =
            mode.map_or(Ok(()), |mode| fs::set_permissions(&unnamed, Permissions::from_mode(mode)));
        let named = permitted.and_then(|()| match fs::hard_link(&unnamed, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_stale(path).and_then(|()| fs::hard_link(&unnamed, path))
            }
            result => result,
        });
        fs::remove_file(&unnamed)?;
        named?;
        Ok(Self { fd, path: path.to_owned(), identity: identity(path) })
    }

    /// Returns the path it is bound to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the file on drop, like a killed process.
    #[cfg(test)]
    pub(super) fn keep_file(&mut self) {
        self.identity = None;
    }

    /// Accepts the next connection. The new socket is blocking.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if the listener is non-blocking and no connection is pending. If the process
    /// has no file descriptor left, the connection stays pending.
    pub fn accept(&self) -> io::Result<Socket> {
        retry(|| sockets::accept(self.fd.as_fd())).map(Socket::from)
    }

    /// Sets whether [`accept`](Self::accept) fails with `WouldBlock` instead of waiting.
    ///
    /// # Errors
    ///
    /// Never in practice.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        sockets::set_nonblocking(self.fd.as_fd(), nonblocking)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            // Best effort: the next manager replaces a stale socket.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bind_and_listen(path: &Path) -> io::Result<OwnedFd> {
    let address = Address::to_bind(path)?;
    let socket = sockets::new_stream()?;
    sockets::bind(socket.as_fd(), &address.raw, address.length)?;
    sockets::listen(socket.as_fd())?;
    Ok(socket)
}

/// Listens at an unpredictable name in the directory of `path`.
fn listen_beside(path: &Path) -> io::Result<(PathBuf, OwnedFd)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let unnamed = path.with_file_name(random_name(".trace-".as_ref(), ""));
    // A name with a zero byte is refused before a file is created.
    CString::new(name.as_bytes())?;
    let fd = bind_and_listen(&unnamed)?;
    Ok((unnamed, fd))
}

/// Removes the socket that a killed manager left behind.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = matches!(
        Socket::connect(path),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused
    );
    match is_socket && refused {
        true => fs::remove_file(path),
        false => Err(io::ErrorKind::AddrInUse.into()),
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}
