//! Waking the service thread.
//!
//! A traced thread does not have the tracer's file descriptors, so it wakes the service thread by a
//! word in memory. Another thread waits for the descriptors, and changes the word when one is
//! ready.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use trace_protocol::buffer::producer::Wake;
use trace_protocol::slices;

use crate::sys::{self, Epoll, Event};

/// The word that wakes a service thread.
#[derive(Debug)]
pub(crate) struct WakeWord {
    /// The number of times that the service thread was woken.
    ///
    /// Rules: incremented by any thread after it has stored a request. The service thread reads it
    /// before it looks for requests.
    woken: AtomicU32,
    /// System calls are forbidden to traced threads. Rules: stored before the first recording, or
    /// before the first thread is forbidden them.
    is_silent: AtomicBool,
}

impl WakeWord {
    pub(crate) const fn new() -> Self {
        Self { woken: AtomicU32::new(0), is_silent: AtomicBool::new(false) }
    }

    /// Wakes the service thread. Works in signal handlers.
    pub(crate) fn wake(&self) {
        self.woken.fetch_add(1, Ordering::Release);
        sys::wake_one(&self.woken);
    }

    /// Wakes the service thread from a traced thread.
    ///
    /// If the kernel kills traced threads for system calls, as strict seccomp does, the service
    /// thread polls every [`NAMES_INTERVAL`](crate::service::active::NAMES_INTERVAL).
    pub(crate) fn notify(&self) {
        if self.is_silent() {
            self.woken.fetch_add(1, Ordering::Release);
        } else {
            self.wake();
        }
    }

    /// Returns whether system calls are forbidden to traced threads.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
    }

    /// Sets whether system calls are forbidden to traced threads.
    pub(crate) fn set_silent(&self, silent: bool) {
        self.is_silent.store(silent, Ordering::Relaxed);
    }
}

impl Wake for WakeWord {
    fn wake(&self) {
        self.notify();
    }

    fn is_silent(&self) -> bool {
        self.is_silent()
    }
}

/// The service thread's side.
#[derive(Debug)]
pub(crate) struct WakeUps {
    word: &'static WakeWord,
    seen: Cell<u32>,
}

impl WakeUps {
    pub(crate) fn new(word: &'static WakeWord) -> Self {
        Self { word, seen: Cell::new(word.woken.load(Ordering::Acquire)) }
    }

    /// Waits for a call of [`WakeWord::wake`] after this function returned last, or for `timeout`,
    /// if there is one. May return earlier.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        sys::wait_for_change(&self.word.woken, self.seen.get(), timeout);
        self.seen.set(self.word.woken.load(Ordering::Acquire));
    }
}

/// A thread that wakes the service thread when a file descriptor becomes readable. It allocates no
/// memory.
#[derive(Debug)]
pub(crate) struct Listener {
    epoll: Epoll,
    word: &'static WakeWord,
}

impl Listener {
    /// Calls `run` with a listener, which shares the calling thread's descriptors.
    pub(crate) fn with<R>(word: &'static WakeWord, run: impl FnOnce(&Self) -> R) -> io::Result<R> {
        let listener = Self { epoll: Epoll::new()?, word };
        sys::run_beside(c"trace-listener", &listener, Self::listen, || {
            let _end = End(&listener.epoll);
            run(&listener)
        })
    }

    fn listen(&self) {
        slices::ask_for_short();
        while self.epoll.wait() == Event::Ready {
            self.word.wake();
        }
    }

    /// Adds a descriptor, until it is closed. The caller must read all data: only new data wake the
    /// service thread.
    pub(crate) fn watch(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.epoll.watch(descriptor)
    }

    /// Removes a descriptor. Required before it is closed if another process may have the same open
    /// file.
    pub(crate) fn forget(&self, descriptor: BorrowedFd<'_>) {
        self.epoll.forget(descriptor);
    }
}

/// Ends the listener's thread when it is dropped.
struct End<'a>(&'a Epoll);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
