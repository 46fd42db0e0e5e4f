//! The service thread: all that a provider does, traced threads do not.

use std::cell::Cell;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;
use std::time::Duration;

use trace_protocol::buffer::producer::Slot;
use trace_protocol::slices;

use super::config::Builder;
use super::handle::Shared;
use super::link::Link;
use super::{fork, output, sys, wait};
use crate::thread::id::{agree, candidates, Candidates};
use crate::{clock, nonce, thread, timestamp, RECORDER};

/// The eventfd that wakes the service thread, or -1.
///
/// It is made once and stays open: a thread that is about to write to it must not find another file
/// under its number.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// How often the service thread looks for new threads while it records.
pub(super) const NAMES_INTERVAL: Duration = Duration::from_millis(100);

/// How long it waits before it goes back to a manager that has hung up without a session.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// The most threads that can trace at once: more than Linux has.
const MOST_THREADS: usize = 1 << 22;

/// Threads whose slots have memory before they begin to trace.
const THREADS_AT_ONCE: usize = 1024;

thread_local! {
    static IS_SERVICE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is the service thread, which must not wait for itself.
pub(super) fn is_here() -> bool {
    IS_SERVICE.get()
}

/// The service thread's own.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) config: Builder,
    pub(super) cpu_counter: bool,
    /// What the thread that called `init` found out of its id.
    candidates: Candidates,
    wake: BorrowedFd<'static>,
    shared: Arc<Shared>,
}

/// Wakes the service thread. Works on traced threads and in signal handlers.
pub(crate) fn wake() {
    sys::signal_eventfd(WAKE.load(Ordering::Relaxed));
}

/// Makes a forked child forget its parent's service thread, without closing anything.
pub(super) fn forget() {
    WAKE.store(-1, Ordering::Relaxed);
}

/// The eventfd that wakes the service thread of this process.
fn wake_descriptor() -> io::Result<BorrowedFd<'static>> {
    let mut descriptor = WAKE.load(Ordering::Relaxed);
    if descriptor < 0 {
        descriptor = sys::eventfd()?.into_raw_fd();
        WAKE.store(descriptor, Ordering::Relaxed);
        fork::remember_descriptor(0, descriptor);
    }
    // SAFETY: the descriptor is the eventfd made above, here or in an earlier call, and is never
    // closed in this process.
    Ok(unsafe { BorrowedFd::borrow_raw(descriptor) })
}

/// Makes ready what trace points need, and starts the service thread with every signal blocked.
pub(super) fn spawn(config: Builder, shared: Arc<Shared>) -> io::Result<()> {
    let wake = wake_descriptor()?;
    fork::install_handlers();
    let cpu_counter = clock::choose(!config.cpu_counter);
    timestamp::prepare();
    thread::prepare();
    nonce::prepare();
    prepare_recorder(&config)?;
    let service = Service { config, cpu_counter, candidates: candidates(), wake, shared };
    let thread = std::thread::Builder::new().name("trace-service".to_owned());
    sys::without_signals(|| thread.spawn(move || service.run())).map(drop)
}

fn prepare_recorder(config: &Builder) -> io::Result<()> {
    if !RECORDER.is_provided() {
        RECORDER.wipe_on_fork();
        // SAFETY: a slot is atomics of numbers and pointers, for which zeros are valid.
        let slots = |count| unsafe { sys::reserve::<Slot>(count) };
        let slots = slots(MOST_THREADS)
            .or_else(|| slots(MOST_THREADS >> 8))
            .ok_or_else(io::Error::last_os_error)?;
        sys::populate(slots, THREADS_AT_ONCE);
        RECORDER.provide(slots, std::process::id(), config.membarrier);
    }
    Ok(())
}

/// Says that the service thread has ended, when dropped.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Service {
    fn run(self) {
        IS_SERVICE.set(true);
        slices::ask_for_short();
        agree(self.candidates);
        // Whatever happens, nobody waits for this thread in vain.
        let _ended = Ended(Arc::clone(&self.shared));
        match &self.config.output {
            Some(path) => output::run(&self, path),
            None => self.serve_managers(),
        }
    }

    /// Serves one manager after another, and waits without polling where there is none.
    fn serve_managers(&self) {
        while !self.is_quitting() {
            let Some(socket) = wait::for_manager(self) else { return };
            let served = Link::new(self, socket).serve();
            self.settle();
            if !served && !self.is_quitting() {
                // A manager that takes nobody in is asked again later.
                sys::poll(&mut [sys::interest(Some(self.wake()))], Some(RECONNECT_INTERVAL));
            }
        }
    }

    /// The eventfd that wakes this thread.
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.wake
    }

    /// Sets the wake-up back. To be called before looking for what there is to do.
    pub(super) fn drain_wake(&self) {
        sys::drain_eventfd(self.wake());
    }

    /// Whether the provider is to end.
    pub(super) fn is_quitting(&self) -> bool {
        self.shared.is_quitting()
    }

    /// Lets `init` return.
    pub(super) fn settle(&self) {
        self.shared.settle();
    }
}
