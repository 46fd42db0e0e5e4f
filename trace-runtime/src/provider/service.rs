//! The service thread: all that a provider does, traced threads do not.
//!
//! It has a descriptor table of its own ([`sys::own_table`]), and so runs no function of the
//! application.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use trace_protocol::buffer::producer::Slot;
use trace_protocol::thread_id::{agree, candidates, Candidates};
use trace_protocol::{clock, counter, slices};

use super::backoff::Backoff;
use super::config::Builder;
use super::handle::Shared;
use super::link::Link;
use super::observers::Observers;
use super::wake::{Listener, WakeUps};
use super::{fork, output, sys, wait};
use crate::not_traced::NotTraced;
use crate::{nonce, thread, timestamp, Clock, RECORDER};

/// How often the service thread looks for new threads while it records.
pub(super) const NAMES_INTERVAL: Duration = Duration::from_millis(100);

/// The service thread's own.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) config: Builder,
    pub(super) cpu_counter: bool,
    pub(super) observers: Observers,
    /// What the thread that called `init` found out of its id.
    candidates: Candidates,
    wake_ups: WakeUps,
    shared: Arc<Shared>,
}

/// Makes ready what trace points need, and starts the service thread with every signal blocked.
pub(super) fn spawn(config: Builder, shared: Arc<Shared>) -> io::Result<()> {
    fork::install_handlers();
    thread::prepare();
    nonce::prepare();
    prepare_recorder(&config)?;
    let service = Service {
        config,
        cpu_counter: false,
        observers: Observers::begin(),
        candidates: candidates(),
        wake_ups: WakeUps::new(),
        shared,
    };
    sys::without_signals(|| sys::spawn("trace-service", move || service.run())).map(drop)
}

fn prepare_recorder(config: &Builder) -> io::Result<()> {
    if !RECORDER.is_provided() {
        RECORDER.wipe_on_fork();
        RECORDER.provide(std::process::id(), config.membarrier);
    }
    match add_slots() {
        Err(error) if RECORDER.has_no_slots() => Err(error),
        _ => Ok(()),
    }
}

/// Maps slots for more threads ahead of need: a traced thread makes no system call for its slot.
///
/// # Errors
/// What mmap says, as where the process locks its memory and has reached the limit. Threads without
/// a slot then lose their records.
pub(super) fn add_slots() -> io::Result<()> {
    while let Some(count) = RECORDER.slots_wanted() {
        // SAFETY: a slot is atomics of numbers and pointers, for which zeros are valid.
        RECORDER.add_slots(unsafe { sys::map_zeroed::<Slot>(count) }?);
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
        let _ended = Ended(Arc::clone(&self.shared));
        let mut service = self;
        match sys::own_table() {
            Ok(()) => service.serve(),
            Err(error) => service.report(NotTraced::descriptors(error)),
        }
    }

    fn serve(&mut self) {
        counter::allow();
        slices::ask_for_short();
        // Here, since it may read a file, under a number that is this thread's own.
        clock::choose(self.config.clock.unwrap_or(Clock::Counter).source());
        self.cpu_counter = clock::is_counter();
        timestamp::prepare();
        agree(self.candidates);
        match &self.config.output {
            Some(path) => output::run(self, path),
            None => self.serve_managers(),
        }
    }

    /// Serves one manager after another, and waits without polling where there is none.
    fn serve_managers(&self) {
        let listener = match Listener::start() {
            Ok(listener) => listener,
            Err(error) => return self.report(NotTraced::start(error)),
        };
        let mut backoff = Backoff::default();
        while !self.is_quitting() {
            let Some(socket) = wait::for_manager(self, &listener) else { return };
            let outcome = Link::new(self, &listener, socket).serve();
            self.settle();
            let wait = backoff.after(outcome).filter(|_| !self.is_quitting());
            if wait.is_some() {
                self.wait(wait);
            }
        }
    }

    /// Waits until this thread has been woken since this returned last, or for `timeout`, if there
    /// is one.
    pub(super) fn wait(&self, timeout: Option<Duration>) {
        self.wake_ups.wait(timeout);
    }

    /// Whether the provider is to end.
    pub(super) fn is_quitting(&self) -> bool {
        self.shared.is_quitting()
    }

    /// Lets `init` return.
    pub(super) fn settle(&self) {
        self.shared.settle();
    }

    /// Keeps the reason why this process is not traced.
    pub(super) fn report(&self, reason: NotTraced) {
        self.shared.report(reason);
    }

    /// Forgets the reason: the process is traced, or about to be.
    pub(super) fn is_accepted(&self) {
        self.shared.forget_reason();
    }

    /// Keeps a message for the application.
    pub(super) fn note(&self, message: String) {
        self.shared.note(message);
    }
}
