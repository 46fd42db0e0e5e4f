//! A connected socket.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::address::Address;
use super::fd_passing::{receive, send};
use crate::sys::{check, retry};

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
        let socket = new_socket()?;
        retry(|| {
            // SAFETY: `address.raw` is a `sockaddr_un` of which `address.length` bytes, no more
            // than it has, are set; it outlives the call.
            let result = unsafe {
                libc::connect(
                    socket.as_raw_fd(),
                    ptr::from_ref(&address.raw).cast(),
                    address.length,
                )
            };
            check(result)
        })?;
        Ok(socket.into())
    }

    /// Makes a connected pair of packet sockets (`SOCK_SEQPACKET`), both blocking.
    ///
    /// # Errors
    ///
    /// When the process or the system has no file descriptor left.
    pub fn packet_pair() -> io::Result<(Self, Self)> {
        let mut fds: [RawFd; 2] = [-1; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: `fds` has room for the two descriptors that socketpair(2) stores.
        check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
        // SAFETY: socketpair succeeded, so the first descriptor is open and nobody else owns it.
        let first = unsafe { OwnedFd::from_raw_fd(fds[0]) };
        // SAFETY: socketpair succeeded, so the second descriptor is open and nobody else owns it.
        let second = unsafe { OwnedFd::from_raw_fd(fds[1]) };
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
        let domain: libc::c_int = option(fd.as_fd(), libc::SO_DOMAIN)?;
        let kind: libc::c_int = option(fd.as_fd(), libc::SO_TYPE)?;
        let listens: libc::c_int = option(fd.as_fd(), libc::SO_ACCEPTCONN)?;
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
        let found: Credentials = option(self.fd.as_fd(), libc::SO_PEERCRED)?;
        let Credentials { pid, uid, gid } = found;
        Ok(PeerCredentials { pid: pid as u32, uid, gid })
    }
}

/// The kernel's `struct ucred`.
#[repr(C)]
#[derive(Default)]
struct Credentials {
    pid: libc::pid_t,
    uid: libc::uid_t,
    gid: libc::gid_t,
}

/// Asks for an option of a socket, which is integers.
fn option<T: Default>(fd: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
    let mut found = T::default();
    let mut length = mem::size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which `found` has; it is integers, for
    // which all bytes are valid.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            ptr::from_mut(&mut found).cast(),
            &mut length,
        )
    };
    check(result)?;
    Ok(found)
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

/// Makes a stream socket.
pub(super) fn new_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: socket(2) takes no pointer.
    let fd = check(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: socket(2) succeeded, so `fd` is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
