//! Waking the service thread.
//!
//! A traced thread has no descriptor of the tracer's, so it wakes the service thread by a word in
//! memory. Descriptors are waited for by a thread of its own, which then changes the word, too.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use trace_protocol::buffer::producer::Wake;
use trace_protocol::slices;

use crate::sys::{self, Epoll, Event};

/// The word that wakes a service thread.
#[derive(Debug)]
pub(crate) struct WakeWord {
    /// The number of times that the service thread was woken.
    ///
    /// Rules: increased by all threads, behind the store of what there is to do; read by the
    /// service thread, before it looks for that.
    woken: AtomicU32,
    /// Traced threads may make no system call. Rules: stored before the first recording.
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

    /// Wakes the service thread on behalf of a traced thread.
    ///
    /// If the kernel kills traced threads for system calls, as strict seccomp does, the service
    /// thread notices by itself, within [`NAMES_INTERVAL`](crate::service::active::NAMES_INTERVAL).
    pub(crate) fn notify(&self) {
        if self.is_silent.load(Ordering::Relaxed) {
            self.woken.fetch_add(1, Ordering::Release);
        } else {
            self.wake();
        }
    }

    /// Says whether traced threads may make no system call.
    pub(crate) fn set_silent(&self, silent: bool) {
        self.is_silent.store(silent, Ordering::Relaxed);
    }
}

impl Wake for WakeWord {
    fn wake(&self) {
        self.notify();
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

    /// Waits until somebody has called [`WakeWord::wake`] since this returned last, or for
    /// `timeout`, if there is one. May return earlier.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        sys::wait_for_change(&self.word.woken, self.seen.get(), timeout);
        self.seen.set(self.word.woken.load(Ordering::Acquire));
    }
}

/// A thread that wakes the service thread when something arrives at one of its descriptors, until
/// this is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    epoll: Arc<Epoll>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts the thread, which shares the calling thread's descriptors.
    pub(crate) fn start(word: &'static WakeWord) -> io::Result<Self> {
        let epoll = Arc::new(Epoll::new()?);
        let waiting = Arc::clone(&epoll);
        let thread = sys::spawn("trace-listener", move || {
            slices::ask_for_short();
            while waiting.wait() == Event::Ready {
                word.wake();
            }
        })?;
        Ok(Self { epoll, thread: Some(thread) })
    }

    /// Listens to this descriptor, too, until it is closed. What has arrived is to be read to its
    /// end: the thread wakes nobody for what is left.
    pub(crate) fn watch(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.epoll.watch(descriptor)
    }

    /// Listens to this descriptor no more. Needed before it is closed if another process may have
    /// the same open file.
    pub(crate) fn forget(&self, descriptor: BorrowedFd<'_>) {
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
