//! The few system calls that the standard library has no name for.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A new [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html), non-blocking.
pub(super) fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: eventfd takes two integers.
    owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

/// Adds one to an eventfd. Works in signal handlers, and leaves `errno` as it was.
pub(super) fn signal_eventfd(fd: RawFd) {
    let one = 1u64;
    // SAFETY: the C library gives each thread an errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the pointer is this thread's errno.
    let saved = unsafe { *errno };
    // SAFETY: the eight bytes are those of `one`; an eventfd never makes a writer of 1 wait here,
    // since it is non-blocking.
    unsafe { libc::write(fd, (&raw const one).cast(), 8) };
    // SAFETY: as above.
    unsafe { *errno = saved };
}

/// Sets an eventfd back, and tells whether it was signalled.
pub(super) fn drain_eventfd(fd: BorrowedFd<'_>) -> bool {
    let mut count = 0u64;
    // SAFETY: there is room for the eight bytes.
    let read = unsafe { libc::read(fd.as_raw_fd(), (&raw mut count).cast(), 8) };
    read == 8
}

/// What [`poll`] waits for, and found.
pub(super) fn interest(fd: Option<BorrowedFd<'_>>) -> libc::pollfd {
    // A negative descriptor is passed over.
    libc::pollfd { fd: fd.map_or(-1, |fd| fd.as_raw_fd()), events: libc::POLLIN, revents: 0 }
}

/// Waits until one of the descriptors is readable or hung up, or for `timeout`, if there is one.
pub(super) fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) {
    let timeout =
        timeout.map_or(-1, |timeout| i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
    // SAFETY: the slice is as long as is said.
    let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) };
    if ready < 0 {
        // Interrupted: nothing was found.
        fds.iter_mut().for_each(|fd| fd.revents = 0);
    }
}

/// A new [inotify(7)](https://man7.org/linux/man-pages/man7/inotify.7.html) instance, non-blocking.
pub(super) fn inotify() -> io::Result<OwnedFd> {
    // SAFETY: inotify_init1 takes an integer.
    owned(unsafe { libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK) })
}

/// Watches a directory for what is made in it or moved into it, and for its own end.
pub(super) fn watch_directory(inotify: BorrowedFd<'_>, directory: &Path) -> io::Result<()> {
    const EVENTS: u32 = libc::IN_CREATE
        | libc::IN_MOVED_TO
        | libc::IN_ATTRIB
        | libc::IN_DELETE_SELF
        | libc::IN_MOVE_SELF
        | libc::IN_ONLYDIR;
    let path = CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: the path is a string with a zero at its end.
    let watch = unsafe { libc::inotify_add_watch(inotify.as_raw_fd(), path.as_ptr(), EVENTS) };
    if watch < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Gives a file a length, with its blocks allocated.
pub(super) fn allocate(file: BorrowedFd<'_>, length: libc::off_t) -> io::Result<()> {
    // SAFETY: posix_fallocate takes integers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Locks an open file until its last descriptor is closed. False if another open file has the lock;
/// true also where there are no locks.
pub(super) fn lock(file: BorrowedFd<'_>) -> bool {
    // SAFETY: flock takes integers.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    locked || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock
}

/// Takes what an inotify instance has told so far; which event it was does not matter.
pub(super) fn drain(inotify: BorrowedFd<'_>) {
    let mut events = [0u8; 4096];
    // SAFETY: there is room for as many bytes as are asked for.
    while unsafe { libc::read(inotify.as_raw_fd(), events.as_mut_ptr().cast(), events.len()) } > 0 {
    }
}

/// Waits for a second at most until a socket takes bytes.
pub(super) fn wait_until_writable(fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut ready = [libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 }];
    poll(&mut ready, Some(Duration::from_secs(1)));
    match ready[0].revents {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// Blocks every signal in the calling thread, and runs `run` before they are let in again.
///
/// A thread that is started meanwhile starts with every signal blocked.
pub(super) fn without_signals<T>(run: impl FnOnce() -> T) -> T {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: a valid place for the set, which the call fills.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled above; `before` is a valid place for the old set.
    let blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) } == 0;
    let result = run();
    if blocked {
        // SAFETY: `before` was filled by the successful call above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
    result
}

/// Gives the first `count` values of a reservation memory now, so that nobody faults it in later.
/// Where the kernel is too old for that (before Linux 5.14), whoever comes first does.
pub(super) fn populate<T>(values: &'static [T], count: usize) {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    let size = count.min(values.len()) * size_of::<T>();
    // SAFETY: the range is part of the reservation, which begins at a page; populating changes no
    // contents.
    unsafe { libc::madvise(values.as_ptr().cast_mut().cast(), size, MADV_POPULATE_WRITE) };
}

/// Address space for `count` values whose all-zero bytes are valid, without memory until it is
/// touched.
///
/// # Safety
/// All-zero bytes are a valid `T`.
pub(super) unsafe fn reserve<T>(count: usize) -> Option<&'static [T]> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let size = count.checked_mul(size_of::<T>())?;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of this
    // process.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping is zeroed, page-aligned, `count` values long and never unmapped; zeros
    // are valid values by the contract.
    Some(unsafe { std::slice::from_raw_parts(start.cast(), count) })
}
