//! Unix sockets.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, sockaddr_un, socklen_t};

use super::check;

/// An option of sockets that the C library's bindings lack.
const SO_PEERPIDFD: c_int = 77;

/// As above.
const SO_PEERGROUPS: c_int = 59;

/// Makes a stream socket.
pub(crate) fn new_stream() -> io::Result<OwnedFd> {
    new(libc::SOCK_STREAM)
}

/// Makes a packet socket.
pub(crate) fn new_packets() -> io::Result<OwnedFd> {
    new(libc::SOCK_SEQPACKET)
}

fn new(kind: c_int) -> io::Result<OwnedFd> {
    // SAFETY: socket(2) takes no pointer.
    let fd = check(unsafe { libc::socket(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: socket(2) succeeded, so `fd` is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a connected pair of packet sockets.
pub(crate) fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds: [RawFd; 2] = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for the two descriptors that socketpair(2) stores.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
    // SAFETY: socketpair succeeded, so the first descriptor is open and nobody else owns it.
    let first = unsafe { OwnedFd::from_raw_fd(fds[0]) };
    // SAFETY: socketpair succeeded, so the second descriptor is open and nobody else owns it.
    let second = unsafe { OwnedFd::from_raw_fd(fds[1]) };
    Ok((first, second))
}

/// Connects to the socket with this address, of which `length` bytes are set.
pub(crate) fn connect(
    socket: BorrowedFd<'_>,
    address: &sockaddr_un,
    length: socklen_t,
) -> io::Result<()> {
    let (start, length) = (ptr::from_ref(address).cast(), cut(length));
    // SAFETY: the address has `length` bytes and outlives the call.
    check(unsafe { libc::connect(socket.as_raw_fd(), start, length) }).map(drop)
}

/// Gives a socket this address, of which `length` bytes are set.
pub(crate) fn bind(
    socket: BorrowedFd<'_>,
    address: &sockaddr_un,
    length: socklen_t,
) -> io::Result<()> {
    let (start, length) = (ptr::from_ref(address).cast(), cut(length));
    // SAFETY: the address has `length` bytes and outlives the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), start, length) }).map(drop)
}

/// Cuts a length to that of an address.
fn cut(length: socklen_t) -> socklen_t {
    length.min(mem::size_of::<sockaddr_un>() as socklen_t)
}

/// Lets others connect to a socket.
pub(crate) fn listen(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: listen(2) takes no pointer.
    check(unsafe { libc::listen(socket.as_raw_fd(), libc::SOMAXCONN) }).map(drop)
}

/// Takes the next connection.
pub(crate) fn accept(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let none = ptr::null_mut();
    // SAFETY: accept4(2) may be given no place for the peer's address.
    let fd =
        unsafe { libc::accept4(socket.as_raw_fd(), none, ptr::null_mut(), libc::SOCK_CLOEXEC) };
    // SAFETY: accept4 succeeded, so the descriptor is open and nobody else owns it.
    check(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes calls that would wait fail with `WouldBlock`, or wait again.
pub(crate) fn set_nonblocking(socket: BorrowedFd<'_>, nonblocking: bool) -> io::Result<()> {
    let value = c_int::from(nonblocking);
    // SAFETY: FIONBIO reads one int, which `value` is.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONBIO, &value) }).map(drop)
}

/// Returns an option of a socket that is a number.
pub(crate) fn option(socket: BorrowedFd<'_>, name: c_int) -> io::Result<c_int> {
    // SAFETY: a number may have any bytes.
    unsafe { read_option(socket, name) }
}

/// Returns who is at the other end of a socket.
pub(crate) fn peer(socket: BorrowedFd<'_>) -> io::Result<Credentials> {
    // SAFETY: credentials are numbers, which may have any bytes.
    unsafe { read_option(socket, libc::SO_PEERCRED) }
}

/// Returns the supplementary groups of who is at the other end of a socket (Linux 4.13).
pub(crate) fn peer_groups(socket: BorrowedFd<'_>) -> io::Result<Vec<libc::gid_t>> {
    const SIZE: usize = mem::size_of::<libc::gid_t>();
    let mut groups: Vec<libc::gid_t> = vec![0; 32];
    loop {
        let mut length = (groups.len() * SIZE) as socklen_t;
        let (fd, place) = (socket.as_raw_fd(), groups.as_mut_ptr().cast());
        // SAFETY: the kernel writes at most `length` bytes, which `groups` has; all are valid.
        let result =
            unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, SO_PEERGROUPS, place, &mut length) };
        let number = length as usize / SIZE;
        match check(result) {
            // The length is that of all then. They cannot change.
            Err(error) if error.raw_os_error() == Some(libc::ERANGE) && number > groups.len() => {
                groups.resize(number, 0);
            }
            result => {
                result?;
                groups.truncate(number);
                return Ok(groups);
            }
        }
    }
}

/// Returns a descriptor of the process at the other end of a socket (Linux 6.5).
pub(crate) fn peer_process(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let fd = option(socket, SO_PEERPIDFD)?;
    // SAFETY: getsockopt(2) succeeded, so the descriptor is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns a descriptor of the process that has this id now (Linux 5.3).
pub(crate) fn process(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open(2) takes two numbers.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: pidfd_open succeeded, so the descriptor is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Returns the status of a process that has ended and for which its parent has waited; `None` of
/// another process (Linux 6.15).
pub(crate) fn exit_code(process: BorrowedFd<'_>) -> io::Result<Option<c_int>> {
    let mut info = ProcessInfo { mask: PIDFD_INFO_EXIT, ..ProcessInfo::default() };
    let (fd, place) = (process.as_raw_fd(), ptr::from_mut(&mut info));
    // SAFETY: the kernel writes at most the size that is part of the request, which is that of
    // `info`; all bytes are valid.
    check(unsafe { libc::ioctl(fd, PIDFD_GET_INFO, place) })?;
    Ok((info.mask & PIDFD_INFO_EXIT != 0).then_some(info.exit_code))
}

const PIDFD_INFO_EXIT: u64 = 1 << 3;

/// `_IOWR(0xff, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: libc::Ioctl =
    0xc000_ff0b | (mem::size_of::<ProcessInfo>() as libc::Ioctl) << 16;

/// The kernel's `struct pidfd_info` of Linux 6.15.
#[repr(C)]
#[derive(Debug, Default)]
struct ProcessInfo {
    /// What is requested, and then what is known.
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: c_int,
}

/// The kernel's `struct ucred`.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) pid: libc::pid_t,
    pub(crate) uid: libc::uid_t,
    pub(crate) gid: libc::gid_t,
}

/// Reads an option of a socket.
///
/// # Safety
/// All bytes are valid for a `T`.
unsafe fn read_option<T: Default>(socket: BorrowedFd<'_>, name: c_int) -> io::Result<T> {
    let mut found = T::default();
    let mut length = mem::size_of::<T>() as socklen_t;
    let place = ptr::from_mut(&mut found).cast();
    // SAFETY: the kernel writes at most `length` bytes, which `found` has; all are valid by the
    // contract.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, place, &mut length) };
    check(result)?;
    Ok(found)
}
