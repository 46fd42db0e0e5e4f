//! Wakes the event loop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{eventfd, EventfdFlags};
use rustix::io::retry_on_intr;

/// Wakes the event loop. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(eventfd)))
    }

    pub(crate) fn wake(&self) {
        // If the counter is full, the loop is awake already.
        let _ = retry_on_intr(|| rustix::io::write(&self.0, &1u64.to_ne_bytes()));
    }

    /// Resets the waker after the loop has been woken.
    pub(crate) fn clear(&self) {
        // Fails if the waker is reset already.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{poll, PollFd, PollFlags};

    use super::*;

    fn is_awake(waker: &Waker) -> bool {
        poll(&mut [PollFd::new(waker, PollFlags::IN)], 0) == Ok(1)
    }

    #[test]
    fn a_waker_is_readable_until_it_is_cleared() {
        let waker = Waker::new().unwrap();
        assert!(!is_awake(&waker));
        waker.clone().wake();
        waker.wake();
        assert!(is_awake(&waker));
        waker.clear();
        assert!(!is_awake(&waker));
        waker.clear();
    }
}
