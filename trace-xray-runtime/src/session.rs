//! The thread that patches during a session.
//!
//! All patching is done on it: it has its own descriptor table, which the program cannot close, and
//! no signal handlers run on it, since it inherits the signal mask of the observers' thread.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use trace_runtime::foreign::announce_own_thread;
use trace_runtime::TraceState;

use crate::{control, sys};

/// How often libraries and categories are looked at during a session: a program may load libraries,
/// and another session may record other categories.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

/// The name of the thread.
pub(crate) const THREAD: &str = "trace-xray";

/// The session that is recorded.
static SESSION: Mutex<Option<CallSession>> = Mutex::new(None);

#[derive(Debug)]
struct CallSession {
    /// Ends the session when it is dropped.
    lasts: Sender<()>,
    thread: JoinHandle<()>,
}

/// Follows the state of tracing. Sleds are on when this returns from the start of a session, and
/// off when it returns from its end.
pub(crate) fn observe(state: TraceState) {
    let mut session = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
    // Of the states at which the observer is busy, it gets the last one only.
    if let Some(session) = session.take() {
        session.end();
    }
    if state == TraceState::Started {
        *session = CallSession::start();
    }
}

impl CallSession {
    /// Starts the thread, and waits until sleds are on. `None` if there can be no thread.
    fn start() -> Option<Self> {
        let (lasts, ended) = mpsc::channel::<()>();
        let (starts, started) = mpsc::channel::<()>();
        let run = move || {
            announce_own_thread();
            if let Err(error) = sys::own_descriptors() {
                return control::report("", &error);
            }
            control::start();
            drop(starts);
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                control::update();
            }
            control::stop();
        };
        let thread = thread::Builder::new().name(THREAD.to_owned()).spawn(run);
        let thread = thread.map_err(|error| control::report("", &error)).ok()?;
        // Returns when the thread has dropped the other end.
        let _dropped = started.recv();
        Some(Self { lasts, thread })
    }

    /// Waits until sleds are off.
    fn end(self) {
        drop(self.lasts);
        // A panic has ended the thread as early.
        let _panicked = self.thread.join();
    }
}
