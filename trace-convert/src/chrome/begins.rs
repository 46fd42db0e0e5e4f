//! Durations of no length.

use std::collections::HashMap;

use trace_format::{EventKind, ThreadKoids};

/// The most threads whose last begin is remembered.
const MAX_THREADS: usize = 1 << 16;

/// When a duration began last on each thread, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Begins {
    last: HashMap<ThreadKoids, u64>,
}

impl Begins {
    /// Returns the time at which a begin or an end is shown: of a begin and an
    /// end at one time Perfetto takes the end first.
    pub(super) fn shown_at(&mut self, nanos: u64, thread: ThreadKoids, kind: EventKind) -> u64 {
        if kind != EventKind::DurationBegin {
            let has_no_length = self.last.get(&thread) == Some(&nanos);
            return nanos.saturating_add(has_no_length.into());
        }
        if self.last.len() >= MAX_THREADS && !self.last.contains_key(&thread) {
            self.last.clear();
        }
        self.last.insert(thread, nanos);
        nanos
    }
}
