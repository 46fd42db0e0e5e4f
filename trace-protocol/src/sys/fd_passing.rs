//! `sendmsg` and `recvmsg` with file descriptors (`SCM_RIGHTS`, unix(7), cmsg(3)).

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::check;

/// The most file descriptors that one message carries.
pub const MAX_FDS: usize = 4;

/// The space of one control message with [`MAX_FDS`] descriptors: a header of 16 bytes, and 4 bytes
/// for each. `u64` has the alignment of `cmsghdr`.
type Control = [u64; 4];

/// The space of one control message with all descriptors that the kernel passes: 253,
/// `SCM_MAX_FD`.
pub(crate) type LargestControl = [u64; 129];

const HEADER: usize = mem::size_of::<libc::cmsghdr>();
const FD: usize = mem::size_of::<RawFd>();
const _: () = assert!(HEADER == 16 && mem::align_of::<libc::cmsghdr>() <= 8);
const _: () = assert!(HEADER + MAX_FDS * FD <= mem::size_of::<Control>());

pub(crate) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    flags: libc::c_int,
) -> io::Result<usize> {
    if fds.len() > MAX_FDS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut part = io_vector(bytes.as_ptr().cast_mut(), bytes.len());
    let mut control = control_message(fds);
    let mut message = message_header(&mut part);
    if !fds.is_empty() {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = (HEADER + fds.len() * FD) as _;
    }
    // SAFETY: `message` points to `part`, which spans `bytes`, and to the initialised beginning of
    // `control`; all three live through the call, and sendmsg(2) only reads them.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL | flags) };
    check(sent).map(|sent| sent as usize)
}

/// Receives, with at most [`MAX_FDS`] descriptors: all, or none.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    fds: Option<&mut Vec<OwnedFd>>,
    flags: libc::c_int,
) -> io::Result<usize> {
    let mut control: Control = [0; 4];
    let Some(fds) = fds else {
        return receive_with(socket, buffer, None, flags, &mut control).map(|(read, _)| read);
    };
    let before = fds.len();
    let (read, is_truncated) = receive_with(socket, buffer, Some(fds), flags, &mut control)?;
    if is_truncated {
        // It is unknown which descriptors are missing.
        fds.truncate(before);
    }
    Ok(read)
}

/// Receives, with as many descriptors as `control`, which is zero, has space for. Returns the
/// number of bytes, and whether there were more descriptors.
pub(crate) fn receive_with(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    fds: Option<&mut Vec<OwnedFd>>,
    flags: libc::c_int,
    control: &mut [u64],
) -> io::Result<(usize, bool)> {
    let mut part = io_vector(buffer.as_mut_ptr(), buffer.len());
    let mut message = message_header(&mut part);
    if fds.is_some() {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(control) as _;
    }
    // SAFETY: `message` points to `part`, which spans `buffer`, and to `control` with its size; all
    // three are exclusively ours and live through the call.
    let received =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC | flags) };
    let received = check(received)?;
    if let Some(fds) = fds {
        take_fds(control, message.msg_controllen as _, fds);
    }
    Ok((received as usize, message.msg_flags & libc::MSG_CTRUNC != 0))
}

/// Returns a control message: `cmsg_len`, then level and type, then the descriptors.
fn control_message(fds: &[BorrowedFd<'_>]) -> Control {
    let mut control: Control = [0; 4];
    control[0] = (HEADER + fds.len() * FD) as u64;
    control[1] = LEVEL_AND_TYPE;
    for (words, pair) in control[2..].iter_mut().zip(fds.chunks(2)) {
        let mut numbers = pair.iter().map(|fd| fd.as_raw_fd());
        let (low, high) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        *words = join(low, high);
    }
    control
}

/// `cmsg_level` and `cmsg_type` as one word.
const LEVEL_AND_TYPE: u64 = join(libc::SOL_SOCKET, libc::SCM_RIGHTS);

/// Joins two 4-byte values to a word, in the order of their addresses.
const fn join(low: i32, high: i32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (low.to_ne_bytes(), high.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// Takes ownership of the descriptors in the first `used` bytes of `control`, which the kernel has
/// filled.
fn take_fds(control: &[u64], used: usize, fds: &mut Vec<OwnedFd>) {
    let [length, kind, words @ ..] = control else { return };
    let length = *length as usize;
    if used < HEADER || length < HEADER || *kind != LEVEL_AND_TYPE {
        return;
    }
    let count = (length.min(used) - HEADER) / FD;
    let raw = words.iter().flat_map(|word| {
        let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
        [[a, b, c, d], [e, f, g, h]].map(RawFd::from_ne_bytes)
    });
    for fd in raw.take(count) {
        // SAFETY: recvmsg succeeded and says that the kernel installed `count` descriptors for this
        // process in an SCM_RIGHTS message; each is taken once.
        fds.push(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}

fn io_vector(start: *mut u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: start.cast(), iov_len: length }
}

fn message_header(part: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: a msghdr is integers and pointers, for all of which zero is a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = ptr::from_mut(part);
    message.msg_iovlen = 1;
    message
}
