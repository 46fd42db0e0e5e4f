//! The guards of the daemon's sessions.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trace_manager::Guard;

use crate::commands::record::guard::{self, Process};
use crate::message::describe;

/// The guard processes. Each ends with its session.
#[derive(Debug, Default)]
pub(super) struct Guards(Mutex<Vec<Process>>);

impl Guards {
    /// Starts a guard, and collects those that have ended. Returns `None` if it cannot be started.
    /// `session` is the file of the session, if it has one.
    pub(super) fn start(&self, session: Option<&Path>) -> Option<Guard> {
        let started = guard::try_start(None, None, session).map_err(|error| {
            log::warn!(
                "cannot start a guard: {}: the archive of a session is incomplete if the daemon is \
                 killed",
                describe(&error)
            );
        });
        let (guard, process) = started.ok().unzip();
        let mut processes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        processes.retain_mut(Process::is_running);
        processes.extend(process);
        guard
    }

    /// Waits for the guards, for at most `timeout`.
    pub(super) fn wait(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut processes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !processes.is_empty() && Instant::now() < deadline {
            processes.retain_mut(Process::is_running);
            thread::sleep(Duration::from_millis(1));
        }
        // Their destructors would wait again.
        processes.drain(..).for_each(std::mem::forget);
    }
}
