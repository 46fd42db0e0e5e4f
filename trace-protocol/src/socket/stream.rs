//! A connected socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::address::Address;
use crate::sys::fd_passing::{receive, send};
use crate::sys::retry;
use crate::sys::sockets::{self, Credentials};

/// A connected Unix socket: of the stream kind for messages, of the packet kind for packets.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// Whether calls return where they would wait. It is passed with each call, since the peer may
    /// hold the same open file, and could change its flags.
    nonblocking: AtomicBool,
}

/// Who is at the other end of a socket, as the kernel says (`SO_PEERCRED`, unix(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    /// The process that connected, or made the pair.
    pub pid: u32,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
}

impl Socket {
    /// Connects to the listener at `path`. The socket is blocking.
    ///
    /// # Errors
    ///
    /// `NotFound` when nothing is there, `ConnectionRefused` when nobody listens any more,
    /// `PermissionDenied` when the socket or its directory is another user's.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let address = Address::to_connect(path)?;
        let socket = sockets::new_stream()?;
        retry(|| sockets::connect(socket.as_fd(), &address.raw, address.length))?;
        Ok(socket.into())
    }

    /// Makes a connected pair of packet sockets (`SOCK_SEQPACKET`), both blocking.
    ///
    /// # Errors
    ///
    /// When the process or the system has no file descriptor left.
    pub fn packet_pair() -> io::Result<(Self, Self)> {
        let (first, second) = sockets::packet_pair()?;
        Ok((first.into(), second.into()))
    }

    /// Sends bytes and, with the first of them, file descriptors. Returns how many bytes were
    /// taken.
    ///
    /// Never raises `SIGPIPE`.
    ///
    /// # Errors
    ///
    /// `WouldBlock` on a non-blocking socket that has no room, `BrokenPipe` when the peer is gone,
    /// `InvalidInput` for more than [`MAX_FDS`](super::MAX_FDS) descriptors.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
        retry(|| send(self.fd.as_fd(), bytes, fds, self.flags()))
    }

    /// Receives into `buffer`; 0 when the peer has closed the socket.
    ///
    /// File descriptors that came along are closed by the kernel.
    ///
    /// # Errors
    ///
    /// `WouldBlock` on a non-blocking socket that has nothing, `ConnectionReset` when the peer is
    /// gone.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| receive(self.fd.as_fd(), buffer, None, self.flags()))
    }

    /// Receives as [`recv`](Self::recv) does, and appends the file descriptors that came along to
    /// `fds`: all of them, or none if there are more than [`MAX_FDS`](super::MAX_FDS), or more than
    /// this process may have.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn recv_with_fds(&self, buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<usize> {
        retry(|| receive(self.fd.as_fd(), buffer, Some(fds), self.flags()))
    }

    /// Makes calls of this value that would wait fail with `WouldBlock`, or wait again.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.nonblocking.store(nonblocking, Ordering::Relaxed);
    }

    fn flags(&self) -> libc::c_int {
        match self.nonblocking.load(Ordering::Relaxed) {
            true => libc::MSG_DONTWAIT,
            false => 0,
        }
    }

    /// Takes one end of a packet pair that came from elsewhere.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for any other file.
    pub fn from_packets(fd: OwnedFd) -> io::Result<Self> {
        let option = |name| sockets::option(fd.as_fd(), name);
        let (domain, kind) = (option(libc::SO_DOMAIN)?, option(libc::SO_TYPE)?);
        let listens = option(libc::SO_ACCEPTCONN)?;
        if (domain, kind, listens) != (libc::AF_UNIX, libc::SOCK_SEQPACKET, 0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(fd.into())
    }

    /// Asks the kernel who is at the other end.
    ///
    /// # Errors
    ///
    /// When the kernel refuses, which it has no reason to.
    pub fn peer_credentials(&self) -> io::Result<PeerCredentials> {
        let Credentials { pid, uid, gid } = sockets::peer(self.fd.as_fd())?;
        Ok(PeerCredentials { pid: pid as u32, uid, gid })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<OwnedFd> for Socket {
    /// Takes a connected Unix socket that came from elsewhere.
    fn from(fd: OwnedFd) -> Self {
        Self { fd, nonblocking: AtomicBool::new(false) }
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        socket.fd
    }
}
