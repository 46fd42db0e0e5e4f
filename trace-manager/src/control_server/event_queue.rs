//! Alerts and snapshots of a session on their way to the control thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most events of a session in the queue of the control thread. Alerts use half of it:
/// snapshots are their effects.
const MAX_QUEUED: usize = 64;

/// The most alerts that are kept while nobody watches the session. Older ones are forgotten.
const MAX_EARLY: usize = 16;

/// Whether a session is watched.
#[derive(Debug)]
enum Watch {
    Watched,
    /// The alerts since then.
    Unwatched(VecDeque<String>),
}

impl Default for Watch {
    fn default() -> Self {
        Self::Unwatched(VecDeque::new())
    }
}

/// The state that the control machine and the thread of a session share.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    watch: Mutex<Watch>,
    queued: AtomicUsize,
    dropped: AtomicU64,
}

impl EventQueue {
    /// Notes that a controller watches the session: from now on, events are forwarded. Returns the
    /// alerts from before.
    pub(super) fn watch(&self) -> VecDeque<String> {
        match std::mem::replace(&mut *self.lock(), Watch::Watched) {
            Watch::Watched => VecDeque::new(),
            Watch::Unwatched(alerts) => alerts,
        }
    }

    /// Notes that no controller watches the session.
    pub(super) fn unwatch(&self) {
        *self.lock() = Watch::default();
    }

    pub(super) fn is_watched(&self) -> bool {
        matches!(*self.lock(), Watch::Watched)
    }

    /// Keeps an alert for the next controller that watches the session. Returns false if one does
    /// already.
    pub(super) fn keep(&self, alert: &str) -> bool {
        match &mut *self.lock() {
            Watch::Watched => false,
            Watch::Unwatched(alerts) => {
                if alerts.len() == MAX_EARLY {
                    alerts.pop_front();
                }
                alerts.push_back(alert.to_owned());
                true
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn the_newest_alerts_wait_for_a_watcher() {
        let queue = EventQueue::default();
        let alerts = || (0..20).map(|number| number.to_string());
        assert!(alerts().all(|alert| queue.keep(&alert)));
        assert!(queue.watch().into_iter().eq(alerts().skip(4)));
        assert!(queue.is_watched() && !queue.keep("watched"));
        assert!(queue.watch().is_empty(), "another watcher");
        queue.unwatch();
        assert!(queue.keep("next") && queue.watch() == ["next"]);
    }

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
