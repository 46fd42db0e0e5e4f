//! The effects of alerts.
//!
//! ```text
//!            alert: take one               alert: remember it
//!   Idle ---------------------> Writing ----------------------> Writing, and alerts wait
//!    ^                            | ^                                    |
//!    +---------- written ---------+ +---------- written: take one -------+
//! ```
//!
//! Alerts that arrive while a snapshot is written share the next one, which is taken as soon as the
//! first is written. So each alert has a snapshot that was taken after it, and only one copy of the
//! buffers exists at a time.

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
    /// A snapshot of all records so far is written beside the session's archive, with
    /// `-snapshot-1`, `-snapshot-2` … in its name. The session continues. A session takes at most
    /// 100.
    Snapshot,
}

/// An action for the event loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    /// Take a snapshot, then report [`Triggers::written`].
    Snapshot {
        /// Its number, from 1.
        number: u32,
        /// The alerts that caused it.
        alerts: Vec<String>,
    },
    /// Report that this alert has no snapshot, because the limit is reached. Returned once.
    LimitReached {
        /// The alert.
        alert: String,
    },
    /// Stop the session.
    Stop {
        /// The alert.
        alert: String,
    },
}

/// The largest number of snapshots of a session.
pub const MAX_SNAPSHOTS: u32 = 100;

/// The largest number of alerts of one snapshot.
const MAX_WAITING: usize = 100;

/// The triggers of a session.
#[derive(Debug, Clone, Default)]
pub struct Triggers {
    triggers: Vec<Trigger>,
    /// Whether a snapshot is being written.
    writing: bool,
    /// The alerts of the next snapshot.
    waiting: Vec<String>,
    taken: u32,
    limit_reported: bool,
}

impl Triggers {
    /// Creates the triggers of a session. If an alert has several, its snapshot comes first.
    pub fn new(triggers: Vec<Trigger>) -> Self {
        Self { triggers, ..Self::default() }
    }

    /// Handles an alert. Returns the actions, in order.
    pub fn alert(&mut self, name: &str) -> Vec<Reaction> {
        let has = |action| {
            self.triggers.iter().any(|trigger| trigger.alert == name && trigger.action == action)
        };
        let (snapshot, stop) = (has(TriggerAction::Snapshot), has(TriggerAction::Stop));
        let taken = if snapshot { self.snapshot(name) } else { None };
        let stopped = stop.then(|| Reaction::Stop { alert: name.to_owned() });
        taken.into_iter().chain(stopped).collect()
    }

    fn snapshot(&mut self, name: &str) -> Option<Reaction> {
        if self.taken == MAX_SNAPSHOTS {
            let reported = std::mem::replace(&mut self.limit_reported, true);
            return (!reported).then(|| Reaction::LimitReached { alert: name.to_owned() });
        }
        if self.waiting.len() < MAX_WAITING && !self.waiting.iter().any(|known| known == name) {
            self.waiting.push(name.to_owned());
        }
        self.next()
    }

    /// Notes that a snapshot was written or failed. Returns the next action.
    pub fn written(&mut self) -> Option<Reaction> {
        self.writing = false;
        self.next()
    }

    fn next(&mut self) -> Option<Reaction> {
        if self.writing || self.waiting.is_empty() || self.taken == MAX_SNAPSHOTS {
            return None;
        }
        self.writing = true;
        self.taken += 1;
        Some(Reaction::Snapshot { number: self.taken, alerts: std::mem::take(&mut self.waiting) })
    }

    /// Returns the number of snapshots so far.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// Disables all triggers. Returns the alerts whose snapshot the session's end prevented.
    pub fn end(&mut self) -> Vec<String> {
        self.triggers.clear();
        std::mem::take(&mut self.waiting)
    }
}
