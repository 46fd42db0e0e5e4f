//! The manager's end of the registration socket.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::address::Address;
use super::Socket;
use crate::file::random_name;
use crate::sys::{retry, sockets};

/// A socket that providers connect to. Its file goes away with it.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    path: PathBuf,
    /// Device and inode of the file, so that another manager's is never removed.
    identity: Option<(u64, u64)>,
}

impl Listener {
    /// Binds to `path` and listens. A socket there that nobody listens to any more is replaced.
    ///
    /// # Errors
    ///
    /// `AddrInUse` when another manager listens there, or a file that is no socket is in the way;
    /// `NotFound` when the directory is missing; `PermissionDenied`.
    pub fn bind(path: &Path) -> io::Result<Self> {
        // Providers that wait for the socket try it the moment they see it: it listens before it
        // gets its name.
        let (unnamed, fd) = listen_beside(path)?;
        let named = match fs::hard_link(&unnamed, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_stale(path).and_then(|()| fs::hard_link(&unnamed, path))
            }
            result => result,
        };
        fs::remove_file(&unnamed)?;
        named?;
        Ok(Self { fd, path: path.to_owned(), identity: identity(path) })
    }

    /// Returns the path it is bound to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file stay, as a killed process's does.
    #[cfg(test)]
    pub(super) fn identity_forgotten(&mut self) {
        self.identity = None;
    }

    /// Takes the next connection. The new socket is blocking.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nobody waits and the listener is non-blocking; or when the process has no
    /// file descriptor left, and then the connection goes on waiting.
    pub fn accept(&self) -> io::Result<Socket> {
        retry(|| sockets::accept(self.fd.as_fd())).map(Socket::from)
    }

    /// Makes [`accept`](Self::accept) fail with `WouldBlock` instead of waiting, or wait again.
    ///
    /// # Errors
    ///
    /// When the kernel refuses, which it has no reason to.
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
            // Best effort: a socket that stays behind is replaced by the next manager.
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

/// Listens at another name in the directory of `path`, which nobody can have taken.
fn listen_beside(path: &Path) -> io::Result<(PathBuf, OwnedFd)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let unnamed = path.with_file_name(random_name(".trace-".as_ref(), ""));
    // A name with a zero byte in it is refused before anything is made.
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
