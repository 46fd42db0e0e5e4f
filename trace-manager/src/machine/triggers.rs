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
//! apart. An alert whose trigger has a longer interval of its own waits for a later snapshot. A
//! snapshot that the caller requests does not wait for the interval.

use super::Time;
use crate::trigger::{Cause, TriggerRule};

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
        /// Its causes; none if the caller requested it.
        causes: Vec<Cause>,
    },
    /// Stop the session.
    Stop {
        /// The cause.
        cause: Cause,
    },
}

/// The most causes that one snapshot is for.
const MAX_WAITING: usize = 100;

/// A trigger and its own limits.
#[derive(Debug, Clone)]
struct Rule {
    cause: Cause,
    snapshot: bool,
    stop: bool,
    /// The time between two snapshots, if it has its own.
    min_interval: Option<Time>,
    /// When its next snapshot may start, if it has its own interval.
    next_start: Time,
}

impl From<Trigger> for Rule {
    fn from(Trigger { alert, action }: Trigger) -> Self {
        Self {
            cause: Cause::Alert(alert),
            snapshot: action == TriggerAction::Snapshot,
            stop: action == TriggerAction::Stop,
            min_interval: None,
            next_start: Time::ZERO,
        }
    }
}

impl From<&TriggerRule> for Rule {
    fn from(rule: &TriggerRule) -> Self {
        Self {
            cause: rule.cause(),
            snapshot: rule.actions.snapshot,
            stop: rule.ends_session(),
            min_interval: rule.min_interval,
            next_start: Time::ZERO,
        }
    }
}

/// The triggers of a session.
#[derive(Debug, Clone, Default)]
pub struct Triggers {
    rules: Vec<Rule>,
    /// Whether a snapshot is being written.
    writing: bool,
    /// The causes of the next snapshot.
    waiting: Vec<Cause>,
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
        let rules = triggers.into_iter().map(Rule::from).collect();
        Self { rules, min_interval, ..Self::default() }
    }

    /// Adds triggers with further conditions and limits of their own.
    #[must_use]
    pub fn with_rules(mut self, rules: &[TriggerRule]) -> Self {
        self.rules.extend(rules.iter().map(Rule::from));
        self
    }

    /// Takes an alert, returns what to do, in this order.
    pub fn alert(&mut self, name: &str, now: Time) -> Vec<Reaction> {
        self.hold(Cause::Alert(name.to_owned()), now)
    }

    /// Takes a condition that holds, by its text; returns what to do, in this order.
    pub fn condition(&mut self, text: &str, now: Time) -> Vec<Reaction> {
        self.hold(Cause::Condition(text.to_owned()), now)
    }

    fn hold(&mut self, cause: Cause, now: Time) -> Vec<Reaction> {
        let rules = || self.rules.iter().filter(|rule| rule.cause == cause);
        let (snapshot, stop) = (rules().any(|rule| rule.snapshot), rules().any(|rule| rule.stop));
        let taken = if snapshot { self.snapshot(&cause, now) } else { None };
        let stopped = stop.then_some(Reaction::Stop { cause });
        taken.into_iter().chain(stopped).collect()
    }

    /// Takes the caller's request for a snapshot. [`Triggers::next`] starts it.
    pub fn request(&mut self) {
        self.is_requested = true;
    }

    fn snapshot(&mut self, cause: &Cause, now: Time) -> Option<Reaction> {
        if self.waiting.len() < MAX_WAITING && !self.waiting.contains(cause) {
            self.waiting.push(cause.clone());
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
            return Some(Reaction::Snapshot { causes: Vec::new() });
        }
        let causes = self.take_due(now);
        if causes.is_empty() {
            return None;
        }
        self.writing = true;
        causes.iter().for_each(|cause| self.started(cause, now));
        Some(Reaction::Snapshot { causes })
    }

    /// Takes the causes whose interval is over.
    fn take_due(&mut self, now: Time) -> Vec<Cause> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (due, waiting) = waiting.partition(|cause| self.next_start_of(cause) <= now);
        self.waiting = waiting;
        due
    }

    /// Returns when the next snapshot for a cause may start. The shortest interval of its triggers
    /// counts.
    fn next_start_of(&self, cause: &Cause) -> Time {
        let own = self.rules.iter().filter(|rule| rule.snapshot && rule.cause == *cause);
        let next = own.map(|rule| match rule.min_interval {
            Some(_) => rule.next_start,
            None => self.next_start,
        });
        next.min().unwrap_or(self.next_start)
    }

    /// Notes that a snapshot for a cause starts.
    fn started(&mut self, cause: &Cause, now: Time) {
        for rule in self.rules.iter_mut().filter(|rule| rule.snapshot && rule.cause == *cause) {
            match rule.min_interval {
                Some(interval) => rule.next_start = now.saturating_add(interval),
                None => self.next_start = now.saturating_add(self.min_interval),
            }
        }
    }

    /// Ends them. Returns the causes of each snapshot that was not taken because the session ended
    /// first.
    pub fn end(&mut self) -> Vec<Vec<Cause>> {
        self.rules.clear();
        let requested = std::mem::take(&mut self.is_requested).then(Vec::new);
        let waiting = std::mem::take(&mut self.waiting);
        requested.into_iter().chain((!waiting.is_empty()).then_some(waiting)).collect()
    }
}
