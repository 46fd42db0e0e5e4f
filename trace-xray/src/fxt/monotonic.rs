//! Times of a thread's calls, which never decrease in an archive.
//!
//! Readers of archives sort the events of a thread by time. If time goes back in a call, its end
//! would come before its begin.

use std::collections::HashMap;

use trace_format::ThreadKoids;

/// The latest times of threads.
#[derive(Debug, Default)]
pub(super) struct Monotonic {
    thread: ThreadKoids,
    /// That of `thread`.
    latest: u64,
    /// Those of other threads.
    others: HashMap<ThreadKoids, u64>,
    /// The number of times that were earlier than one before.
    backward: u64,
}

impl Monotonic {
    /// Returns the time of a thread's next entry or exit: that in the log, or the latest one before
    /// it if that is later.
    #[inline]
    pub(super) fn at(&mut self, thread: ThreadKoids, ticks: u64) -> u64 {
        if thread != self.thread {
            self.switch(thread);
        }
        if ticks < self.latest {
            self.backward += 1;
        } else {
            self.latest = ticks;
        }
        self.latest
    }

    fn switch(&mut self, thread: ThreadKoids) {
        self.others.insert(self.thread, self.latest);
        self.latest = self.others.remove(&thread).unwrap_or(0);
        self.thread = thread;
    }

    /// Forgets all times, at the start of another log.
    pub(super) fn restart(&mut self) {
        *self = Self { backward: self.backward, ..Self::default() };
    }

    /// Returns how many times were earlier than one before.
    pub(super) fn backward(&self) -> u64 {
        self.backward
    }
}
