//! What alerts do.
//!
//! ```text
//!            alert: take one               alert: remember it
//!   Idle ---------------------> WriterThread ----------------------> WriterThread, and alerts wait
//!    ^                            | ^                                    |
//!    +---------- written ---------+ +---------- written: take one -------+
//! ```
//!
//! A snapshot takes a while to be written. Alerts that come meanwhile have one together, which is
//! taken as soon as the first is written: each alert so has one that was taken after it, and there
//! is never more than one copy of the buffers.

/// What is to happen when a provider raises an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The alert's name.
    pub alert: String,
    /// What happens then.
    pub action: TriggerAction,
}

/// What happens when an alert is raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerAction {
    /// The session stops and ends, as with [`SessionHandle::stop`](crate::SessionHandle::stop).
    Stop,
    /// An archive of what there is so far is written beside the session's own, with `-snapshot-1`,
    /// `-snapshot-2` … in its name, and the session goes on. At most 100 in a session.
    Snapshot,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reaction {
    /// Take a snapshot, then report [`Triggers::written`].
    Snapshot {
        /// Its number, from 1.
        number: u32,
        /// The alerts that it is for.
        alerts: Vec<String>,
    },
    /// Say that this alert has no snapshot, since there were too many. Said once.
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

/// The most snapshots of a session.
pub const MAX_SNAPSHOTS: u32 = 100;

/// The most names that one snapshot is for.
const MAX_WAITING: usize = 100;

/// The triggers of a session.
#[derive(Debug, Clone, Default)]
pub struct Triggers {
    triggers: Vec<Trigger>,
    /// A snapshot is being written.
    writing: bool,
    /// The alerts that the next one is for.
    waiting: Vec<String>,
    taken: u32,
    limit_reported: bool,
}

impl Triggers {
    /// Makes a session's triggers. Of an alert with several, snapshots come first.
    pub fn new(triggers: Vec<Trigger>) -> Self {
        Self { triggers, ..Self::default() }
    }

    /// Takes an alert, returns what to do, in this order.
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

    /// Takes note that a snapshot has been written, or could not be. Returns what to do.
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

    /// Returns how many snapshots there were.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// Ends them. Returns the alerts that have no snapshot because the session ended first.
    pub fn end(&mut self) -> Vec<String> {
        self.triggers.clear();
        std::mem::take(&mut self.waiting)
    }
}
