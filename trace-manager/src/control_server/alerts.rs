//! The alerts of a session on their way to the control thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// The most alerts of a session in the queue of the control thread.
const MAX_QUEUED: usize = 64;

/// The state that the control machine and the thread of a session share.
#[derive(Debug, Default)]
pub(super) struct AlertQueue {
    is_watched: AtomicBool,
    queued: AtomicUsize,
}

impl AlertQueue {
    /// Sets whether a controller watches the session. Alerts are forwarded only then.
    pub(super) fn set_watched(&self, is_watched: bool) {
        self.is_watched.store(is_watched, Relaxed);
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_watched.load(Relaxed)
    }

    /// Counts an alert that is queued next. Returns false if the queue is full. Only the thread of
    /// the session calls it.
    pub(super) fn push(&self) -> bool {
        let has_space = self.queued.load(Relaxed) < MAX_QUEUED;
        if has_space {
            self.queued.fetch_add(1, Relaxed);
        }
        has_space
    }

    /// Counts an alert that left the queue.
    pub(super) fn pop(&self) {
        self.queued.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_beyond_the_limit_are_dropped() {
        let alerts = AlertQueue::default();
        assert_eq!((0..100).filter(|_| alerts.push()).count(), MAX_QUEUED);
        alerts.pop();
        assert_eq!((alerts.push(), alerts.push()), (true, false));
    }
}
