//! A connected socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::address::Address;
use crate::sys::fd_passing::{receive, receive_with, send, LargestControl};
use crate::sys::retry;
use crate::sys::sockets::{self, Credentials};

/// A connected Unix socket: a stream for messages, or `SOCK_SEQPACKET` for packets.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// Whether calls are non-blocking. Passed with each call, because the peer may share the open
    /// file and change its flags.
    nonblocking: AtomicBool,
}

/// The credentials of a socket's peer, from the kernel (`SO_PEERCRED`, unix(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    /// The process that connected or created the pair.
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
    /// `NotFound` if the socket does not exist, `ConnectionRefused` if it has no listener,
    /// `PermissionDenied` if this user may not connect.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let address = Address::to_connect(path)?;
        let socket = sockets::new_stream()?;
        retry(|| sockets::connect(socket.as_fd(), &address.raw, address.length))?;
        Ok(socket.into())
    }

    /// Connects to the listener of packets (`SOCK_SEQPACKET`) at `path`. The socket is blocking.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_packets(path: &Path) -> io::Result<Self> {
        let address = Address::to_connect(path)?;
        let socket = sockets::new_packets()?;
        retry(|| sockets::connect(socket.as_fd(), &address.raw, address.length))?;
        Ok(socket.into())
    }

    /// Creates a connected pair of packet sockets (`SOCK_SEQPACKET`), both blocking.
    ///
    /// # Errors
    ///
    /// If the process or the system has no file descriptor left.
    pub fn packet_pair() -> io::Result<(Self, Self)> {
        let (first, second) = sockets::packet_pair()?;
        Ok((first.into(), second.into()))
    }

    /// Sends bytes, and file descriptors with the first byte. Returns the number of bytes sent.
    ///
    /// Never raises `SIGPIPE`.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if a non-blocking socket is full, `BrokenPipe` if the peer has closed it,
    /// `InvalidInput` for more than [`MAX_FDS`](super::MAX_FDS) descriptors.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
        retry(|| send(self.fd.as_fd(), bytes, fds, self.flags()))
    }

    /// Receives into `buffer`. Returns the number of bytes, or 0 if the peer has closed the socket.
    ///
    /// The kernel closes file descriptors that were sent with the bytes.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if a non-blocking socket is empty, `ConnectionReset` if the peer has closed it
    /// with unread data.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| receive(self.fd.as_fd(), buffer, None, self.flags()))
    }

    /// Receives like [`recv`](Self::recv), and appends the file descriptors to `fds`: all of them,
    /// or none if there are more than [`MAX_FDS`](super::MAX_FDS), or more than this process may
    /// have.
    ///
    /// # Errors
    ///
    /// Those of [`recv`](Self::recv).
    pub fn recv_with_fds(&self, buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<usize> {
        retry(|| receive(self.fd.as_fd(), buffer, Some(fds), self.flags()))
    }

    /// Receives like [`recv_with_fds`](Self::recv_with_fds), with all file descriptors that a
    /// message can have. Returns the number of bytes, and whether descriptors are missing: if there
    /// are more than this process may have, it gets some, and the kernel closes the others. None is
    /// closed here.
    ///
    /// # Errors
    ///
    /// Those of [`recv`](Self::recv).
    pub fn recv_with_all_fds(
        &self,
        buffer: &mut [u8],
        fds: &mut Vec<OwnedFd>,
    ) -> io::Result<(usize, bool)> {
        let mut control: LargestControl = [0; 129];
        retry(|| receive_with(self.fd.as_fd(), buffer, Some(fds), self.flags(), &mut control))
    }

    /// Sets whether calls of this value fail with `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.nonblocking.store(nonblocking, Ordering::Relaxed);
    }

    fn flags(&self) -> libc::c_int {
        match self.nonblocking.load(Ordering::Relaxed) {
            true => libc::MSG_DONTWAIT,
            false => 0,
        }
    }

    /// Wraps a received descriptor, which must be one end of a packet pair.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is any other file.
    pub fn from_packets(fd: OwnedFd) -> io::Result<Self> {
        let option = |name| sockets::option(fd.as_fd(), name);
        let (domain, kind) = (option(libc::SO_DOMAIN)?, option(libc::SO_TYPE)?);
        let listens = option(libc::SO_ACCEPTCONN)?;
        if (domain, kind, listens) != (libc::AF_UNIX, libc::SOCK_SEQPACKET, 0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(fd.into())
    }

    /// Returns the credentials of the peer, from the kernel.
    ///
    /// # Errors
    ///
    /// Never in practice.
    pub fn peer_credentials(&self) -> io::Result<PeerCredentials> {
        let Credentials { pid, uid, gid } = sockets::peer(self.fd.as_fd())?;
        Ok(PeerCredentials { pid: pid as u32, uid, gid })
    }

    /// Returns the supplementary groups that the peer had when it connected or created the pair,
    /// from the kernel.
    ///
    /// # Errors
    ///
    /// Before Linux 4.13.
    pub fn peer_groups(&self) -> io::Result<Vec<u32>> {
        sockets::peer_groups(self.fd.as_fd())
    }

    /// Returns a descriptor (pidfd_open(2)) of the process that connected or created the pair, or
    /// `None` if the kernel has none. It may have ended; its pid is not reused for it.
    ///
    /// Before Linux 6.5, the descriptor is that of the process which has its pid now.
    ///
    /// # Errors
    ///
    /// `NotConnected` if the process has ended, and the kernel does not know it any more.
    pub fn peer_process(&self) -> io::Result<Option<OwnedFd>> {
        let process = match sockets::peer_process(self.fd.as_fd()) {
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
                sockets::process(sockets::peer(self.fd.as_fd())?.pid)
            }
            process => process,
        };
        match process {
            Ok(process) => Ok(Some(process)),
            // The latter after the process was waited for.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODATA)) => {
                Err(io::ErrorKind::NotConnected.into())
            }
            Err(_) => Ok(None),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<OwnedFd> for Socket {
    /// Wraps a connected Unix socket.
    fn from(fd: OwnedFd) -> Self {
        Self { fd, nonblocking: AtomicBool::new(false) }
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        socket.fd
    }
}
