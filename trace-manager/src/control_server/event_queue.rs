//! Alerts and snapshots of a session on their way to the control thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most events of a session in the queue of the control thread. Alerts use half of it:
/// snapshots are their effects.
const MAX_QUEUED: usize = 64;

/// The most alerts that are kept while nobody watches the session. Older ones are forgotten. A
/// quarter is for programs that the session does not heed, whose alerts are forgotten first, and
/// displace none of the others.
const MAX_EARLY: usize = 16;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Alert,
    /// An alert of a program that the session does not heed.
    UnheededAlert,
    Snapshot,
}

/// An alert that nobody has watched so far.
#[derive(Debug)]
struct EarlyAlert {
    name: String,
    is_heeded: bool,
}

/// Whether a session is watched.
#[derive(Debug)]
enum Watch {
    Watched,
    /// The alerts since then.
    Unwatched(VecDeque<EarlyAlert>),
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
    pub(super) fn watch(&self) -> Vec<String> {
        match std::mem::replace(&mut *self.lock(), Watch::Watched) {
            Watch::Watched => Vec::new(),
            Watch::Unwatched(alerts) => alerts.into_iter().map(|alert| alert.name).collect(),
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
    pub(super) fn keep(&self, name: &str, is_heeded: bool) -> bool {
        match &mut *self.lock() {
            Watch::Watched => false,
            Watch::Unwatched(alerts) => {
                if make_space(alerts, is_heeded) {
                    alerts.push_back(EarlyAlert { name: name.to_owned(), is_heeded });
                }
                true
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an alert or a snapshot that is queued next. Returns false if the queue is full, and
    /// counts it as dropped. Only the thread of the session calls it.
    pub(super) fn push(&self, kind: Kind) -> bool {
        let limit = match kind {
            Kind::Snapshot => MAX_QUEUED,
            Kind::Alert => MAX_QUEUED / 2,
            Kind::UnheededAlert => MAX_QUEUED / 8,
        };
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

/// Forgets the oldest alert if it leaves no space for another one. Returns whether there is space.
fn make_space(alerts: &mut VecDeque<EarlyAlert>, is_heeded: bool) -> bool {
    let unheeded = alerts.iter().filter(|alert| !alert.is_heeded).count();
    if alerts.len() < MAX_EARLY && (is_heeded || unheeded < MAX_EARLY / 4) {
        return true;
    }
    let oldest = alerts.iter().position(|alert| !alert.is_heeded);
    let forgotten = oldest.or(is_heeded.then_some(0));
    forgotten.and_then(|oldest| alerts.remove(oldest)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_alerts_wait_for_a_watcher() {
        let queue = EventQueue::default();
        let alerts = || (0..20).map(|number| number.to_string());
        assert!(alerts().all(|alert| queue.keep(&alert, true)));
        assert!(queue.watch().into_iter().eq(alerts().skip(4)));
        assert!(queue.is_watched() && !queue.keep("watched", true));
        assert!(queue.watch().is_empty(), "another watcher");
        queue.unwatch();
        assert!(queue.keep("next", true) && queue.watch() == ["next"]);
    }

    #[test]
    fn alerts_of_programs_that_are_not_heeded_are_forgotten_first() {
        let queue = EventQueue::default();
        for number in 0..14 {
            queue.keep(&number.to_string(), true);
        }
        (0..100).for_each(|_| _ = queue.keep("other", false));
        let kept = queue.watch();
        assert!(kept[..14].iter().eq((0..14).map(|it| it.to_string()).collect::<Vec<_>>().iter()));
        assert_eq!(kept[14..], ["other"; 2]);
        queue.unwatch();
        (0..100).for_each(|_| _ = queue.keep("other", false));
        assert_eq!(queue.watch(), ["other"; 4]);
        queue.unwatch();
        (0..4).for_each(|_| _ = queue.keep("other", false));
        (0..16).for_each(|_| _ = queue.keep("own", true));
        assert!(queue.keep("other", false), "it is forgotten");
        assert_eq!(queue.watch(), ["own"; 16]);
    }

    #[test]
    fn events_beyond_the_limit_are_dropped() {
        let queue = EventQueue::default();
        let pushed = |kind| (0..100).filter(|_| queue.push(kind)).count();
        let kinds = [Kind::UnheededAlert, Kind::Alert, Kind::Snapshot];
        assert_eq!(kinds.map(pushed), [8, 24, 32]);
        assert_eq!(queue.dropped(), 300 - MAX_QUEUED as u64);
        queue.pop();
        let kinds = [Kind::Alert, Kind::Snapshot, Kind::Snapshot];
        assert_eq!(kinds.map(|kind| queue.push(kind)), [false, true, false]);
    }
}
