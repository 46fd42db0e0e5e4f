//! The number of alerts and snapshots of a session on their way to the control thread.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The most events of a session in the queue of the control thread. Alerts use half of it:
/// snapshots are their effects.
const MAX_QUEUED: usize = 64;

/// The state that the control machine and the thread of a session share.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    is_watched: AtomicBool,
    queued: AtomicUsize,
    dropped: AtomicU64,
}

impl EventQueue {
    /// Sets whether a controller watches the session. Events are forwarded only then.
    pub(super) fn set_watched(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Relaxed);
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Relaxed)
    }

    /// Counts an alert or a snapshot that is queued next. Returns false if the queue is full, and
    /// counts it as dropped. Only the thread of the session calls it.
    pub(super) fn push(&self, is_alert: bool) -> bool {
        let limit = if is_alert { MAX_QUEUED / 2 } else { MAX_QUEUED };
        let has_space = self.queued.load(Relaxed) < limit;
        if has_space {
            self.queued.fetch_add(1, Relaxed);
        } else {
            self.dropped.fetch_add(1, Relaxed);
        }
        has_space
    }

    /// Counts an event that left the queue.
    pub(super) fn pop(&self) {
        self.queued.fetch_sub(1, Relaxed);
    }

    /// Returns the number of events that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_beyond_the_limit_are_dropped() {
        let queue = EventQueue::default();
        assert_eq!((0..100).filter(|_| queue.push(true)).count(), MAX_QUEUED / 2);
        assert_eq!((0..100).filter(|_| queue.push(false)).count(), MAX_QUEUED / 2);
        assert_eq!(queue.dropped(), 200 - MAX_QUEUED as u64);
        queue.pop();
        assert_eq!([true, false, false].map(|is_alert| queue.push(is_alert)), [false, true, false]);
    }
}
