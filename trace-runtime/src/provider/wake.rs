//! Waking the service thread.
//!
//! A traced thread has no descriptor of the tracer's, so it wakes the service thread by a word in
//! memory. Descriptors are waited for by a thread of its own, which then changes the word, too.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use trace_protocol::{clock, slices};

use super::sys::{self, Epoll, Event};

/// The number of times that the service thread was woken.
///
/// Rules: increased by all threads, behind the store of what there is to do; read by the service
/// thread, before it looks for that.
static WOKEN: AtomicU32 = AtomicU32::new(0);

/// Wakes the service thread. Works on traced threads and in signal handlers.
pub(crate) fn wake() {
    WOKEN.fetch_add(1, Ordering::Release);
    // All: a service thread that was asked to end long ago may wait, too.
    sys::wake_all(&WOKEN);
}

/// Wakes the service thread on behalf of a traced thread.
///
/// With [`Clock::Coarse`](crate::Clock::Coarse) that thread may be under strict seccomp, and the
/// kernel kills it for the system call. The service thread then notices by itself, within
/// [`NAMES_INTERVAL`](super::service::NAMES_INTERVAL).
pub(crate) fn notify() {
    if clock::is_coarse() {
        WOKEN.fetch_add(1, Ordering::Release);
    } else {
        wake();
    }
}

/// The service thread's side.
#[derive(Debug)]
pub(super) struct WakeUps {
    seen: Cell<u32>,
}

impl WakeUps {
    pub(super) fn new() -> Self {
        Self { seen: Cell::new(WOKEN.load(Ordering::Acquire)) }
    }

    /// Waits until somebody has called [`wake`] since this returned last, or for `timeout`, if
    /// there is one. May return earlier.
    pub(super) fn wait(&self, timeout: Option<Duration>) {
        sys::wait_for_change(&WOKEN, self.seen.get(), timeout);
        self.seen.set(WOKEN.load(Ordering::Acquire));
    }
}

/// A thread that wakes the service thread when something arrives at one of its descriptors, until
/// this is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    epoll: Arc<Epoll>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts the thread, which shares the calling thread's descriptors.
    pub(super) fn start() -> io::Result<Self> {
        let epoll = Arc::new(Epoll::new()?);
        let waiting = Arc::clone(&epoll);
        let thread = sys::spawn("trace-listener", move || {
            slices::ask_for_short();
            while waiting.wait() == Event::Ready {
                wake();
            }
        })?;
        Ok(Self { epoll, thread: Some(thread) })
    }

    /// Listens to this descriptor, too, until it is closed. What has arrived is to be read to its
    /// end: the thread wakes nobody for what is left.
    pub(super) fn watch(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.epoll.watch(descriptor)
    }

    /// Listens to this descriptor no more. Needed before it is closed if another process may have
    /// the same open file.
    pub(super) fn forget(&self, descriptor: BorrowedFd<'_>) {
        self.epoll.forget(descriptor);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.epoll.end();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}
