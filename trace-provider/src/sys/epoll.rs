//! Waiting for descriptors, [epoll(7)](https://man7.org/linux/man-pages/man7/epoll.7.html).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::descriptors::high;
use super::{check, owned};

/// A set of descriptors to wait for, and an event that ends the wait.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: OwnedFd,
    end: OwnedFd,
}

/// The result of [`Epoll::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A descriptor has become readable, or its peer has closed it.
    Ready,
    /// [`Epoll::end`] was called, or the wait has failed.
    End,
}

const READY: u64 = 0;
const END: u64 = 1;

impl Epoll {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the call takes an integer.
        let epoll = high(owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?);
        // SAFETY: the call takes two integers.
        let end = high(owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?);
        let this = Self { epoll, end };
        this.add(this.end.as_fd(), END)?;
        Ok(this)
    }

    /// Adds a descriptor, until it is closed. New data cause one event, and unread data none.
    pub(crate) fn watch(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.add(fd, READY)
    }

    /// Removes a descriptor. Required before it is closed if another process may have the same open
    /// file.
    pub(crate) fn forget(&self, fd: BorrowedFd<'_>) {
        let _watched = self.control(libc::EPOLL_CTL_DEL, fd, READY);
    }

    fn add(&self, fd: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, number)
    }

    fn control(&self, how: libc::c_int, fd: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: number };
        let (epoll, fd) = (self.epoll.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: the event lives through the call.
        check(unsafe { libc::epoll_ctl(epoll, how, fd, &raw mut event) }).map(drop)
    }

    /// Waits for the next event.
    pub(crate) fn wait(&self) -> Event {
        let mut found = [libc::epoll_event { events: 0, u64: READY }; 8];
        // SAFETY: the buffer has space for as many events as the call may store.
        let number = unsafe {
            libc::epoll_wait(self.epoll.as_raw_fd(), found.as_mut_ptr(), found.len() as i32, -1)
        };
        let interrupted = || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        let ended = || {
            let found = found.get(..number as usize).unwrap_or(&[]);
            found.iter().any(|event| { event.u64 } == END)
        };
        if (number < 0 && !interrupted()) || (number >= 0 && ended()) {
            return Event::End;
        }
        Event::Ready
    }

    /// Ends the wait with [`Event::End`].
    pub(crate) fn end(&self) {
        let one = 1u64;
        // SAFETY: the eight bytes are those of `one`; the descriptor is non-blocking.
        unsafe { libc::write(self.end.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}
