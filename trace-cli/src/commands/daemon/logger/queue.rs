//! Lines of the log that are not written yet.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most lines that wait.
const MOST_LINES: usize = 1000;

/// Lines that are not written yet.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Returns the line that stands for dropped ones.
    note: Box<dyn Fn(u64) -> String + Send + Sync>,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<String>,
    /// The lines that were dropped since the last one was queued.
    dropped: u64,
    is_writing: bool,
}

impl State {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.dropped == 0
    }
}

impl Queue {
    /// Creates an empty queue. `note` returns the line that stands for dropped ones.
    pub(super) fn new(note: impl Fn(u64) -> String + Send + Sync + 'static) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), note: Box::new(note) }
    }

    /// Adds a line, or drops it if there is no space.
    pub(super) fn push(&self, line: String) {
        let mut state = self.lock();
        if state.lines.len() >= MOST_LINES {
            state.dropped += 1;
            return;
        }
        if let Some(note) = self.take_note(&mut state) {
            state.lines.push_back(note);
        }
        state.lines.push_back(line);
        self.changed.notify_all();
    }

    /// Waits for a line, and writes it.
    pub(super) fn write_next(&self, write: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
        let state = self.changed.wait_while(self.lock(), |state| state.is_empty());
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let line = state.lines.pop_front().or_else(|| self.take_note(&mut state));
        let Some(line) = line else { return Ok(()) };
        state.is_writing = true;
        drop(state);
        let written = write(&line);
        self.lock().is_writing = false;
        self.changed.notify_all();
        written
    }

    /// Waits until all lines are written, for at most `timeout`.
    pub(super) fn wait_until_written(&self, timeout: Duration) {
        let waits = |state: &mut State| state.is_writing || !state.is_empty();
        drop(self.changed.wait_timeout_while(self.lock(), timeout, waits));
    }

    fn take_note(&self, state: &mut State) -> Option<String> {
        let dropped = std::mem::take(&mut state.dropped);
        (dropped > 0).then(|| (self.note)(dropped))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
