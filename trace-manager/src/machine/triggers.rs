//! The effects of alerts.
//!
//! ```text
//!            alert: take one               alert: remember it
//!   Idle ---------------------> Writing ----------------------> Writing, and alerts wait
//!    ^                            | ^                                    |
//!    +---------- written ---------+ +-- written, interval over: take one +
//! ```
//!
//! A snapshot takes a while to be written. Alerts that come meanwhile have one together, which is
//! taken as soon as the first is written: each alert so has one that was taken after it, and there
//! is never more than one copy of the buffers. Snapshots of alerts start at least an interval
//! apart. One that the caller requests does not wait for the interval.

use super::Time;

/// The effect of one alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The alert's name.
    pub alert: String,
    /// Its effect.
    pub action: TriggerAction,
}

/// The effect of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerAction {
    /// The session stops and ends, as by [`SessionHandle::stop`](crate::SessionHandle::stop).
    Stop,
    /// An archive of what there is so far is written beside the session's own, with `-snapshot-`
    /// and the time in its name, and the session goes on.
    /// [`SnapshotLimits`](crate::SnapshotLimits) apply.
    Snapshot,
}

/// An action for the event loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    /// Take a snapshot, then report [`Triggers::written`].
    Snapshot {
        /// The alerts that it is for; none if the caller requested it.
        alerts: Vec<String>,
    },
    /// Stop the session.
    Stop {
        /// The alert.
        alert: String,
    },
}

/// The most names that one snapshot is for.
const MAX_WAITING: usize = 100;

/// The triggers of a session.
#[derive(Debug, Clone, Default)]
pub struct Triggers {
    triggers: Vec<Trigger>,
    /// Whether a snapshot is being written.
    writing: bool,
    /// The alerts of the next snapshot.
    waiting: Vec<String>,
    /// The caller has requested one.
    is_requested: bool,
    min_interval: Time,
    /// When the next one for alerts may start.
    next_start: Time,
}

impl Triggers {
    /// Makes a session's triggers, with a time between the starts of two snapshots for alerts. Of
    /// an alert with several triggers, snapshots come first.
    pub fn new(triggers: Vec<Trigger>, min_interval: Time) -> Self {
        Self { triggers, min_interval, ..Self::default() }
    }

    /// Takes an alert, returns what to do, in this order.
    pub fn alert(&mut self, name: &str, now: Time) -> Vec<Reaction> {
        let has = |action| {
            self.triggers.iter().any(|trigger| trigger.alert == name && trigger.action == action)
        };
        let (snapshot, stop) = (has(TriggerAction::Snapshot), has(TriggerAction::Stop));
        let taken = if snapshot { self.snapshot(name, now) } else { None };
        let stopped = stop.then(|| Reaction::Stop { alert: name.to_owned() });
        taken.into_iter().chain(stopped).collect()
    }

    /// Takes the caller's request for a snapshot. [`Triggers::next`] starts it.
    pub fn request(&mut self) {
        self.is_requested = true;
    }

    fn snapshot(&mut self, name: &str, now: Time) -> Option<Reaction> {
        if self.waiting.len() < MAX_WAITING && !self.waiting.iter().any(|known| known == name) {
            self.waiting.push(name.to_owned());
        }
        self.next(now)
    }

    /// Takes note that a snapshot has been written, or could not be.
    pub fn written(&mut self) {
        self.writing = false;
    }

    /// Returns the snapshot to take now, if there is one.
    pub fn next(&mut self, now: Time) -> Option<Reaction> {
        if self.writing {
            return None;
        }
        if std::mem::take(&mut self.is_requested) {
            self.writing = true;
            return Some(Reaction::Snapshot { alerts: Vec::new() });
        }
        if self.waiting.is_empty() || now < self.next_start {
            return None;
        }
        self.writing = true;
        self.next_start = now.saturating_add(self.min_interval);
        Some(Reaction::Snapshot { alerts: std::mem::take(&mut self.waiting) })
    }

    /// Ends them. Returns the alerts of each snapshot that was not taken because the session ended
    /// first.
    pub fn end(&mut self) -> Vec<Vec<String>> {
        self.triggers.clear();
        let requested = std::mem::take(&mut self.is_requested).then(Vec::new);
        let waiting = std::mem::take(&mut self.waiting);
        requested.into_iter().chain((!waiting.is_empty()).then_some(waiting)).collect()
    }
}
