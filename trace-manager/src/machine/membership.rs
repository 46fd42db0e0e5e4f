//! The sessions that a provider is in.
//!
//! A provider serves all its sessions with one buffer:
//!
//! ```text
//!            buffer created,              CATEGORIES_SET, or time-out
//!            or SET_CATEGORIES                       |
//!   --- wanted ----------------> joining ------------+-----> joined
//!                                   |                          |
//!                                   +----- session stops ------+
//!                                                 |
//!                                                 v   CATEGORIES_SET, STOPPED, or time-out
//!                                              leaving -----------------------------------> left
//! ```
//!
//! If several sessions include a provider, its mode is streaming, because only then the manager
//! gets each record once, and can split the records. A provider in circular mode therefore begins
//! to stream when a second session would join, and the session waits until it does. If that is not
//! possible, or takes too long, the provider is restarted with a new buffer, as it is in oneshot
//! mode. It stays in streaming mode until its last session leaves. A provider that does not accept
//! SET_CATEGORIES is restarted at each change.

use std::collections::{BTreeMap, BTreeSet};

use super::tracee::Stream;
use super::{End, SessionNumber, Time, Timeouts, Tracee, TraceeAction, TraceeState};

/// The sessions of one provider.
#[derive(Debug, Default)]
pub(super) struct Membership {
    members: BTreeMap<SessionNumber, Member>,
    /// Sessions that the provider has left, or for which it got no buffer.
    excluded: BTreeSet<SessionNumber>,
    /// Those of them that it joins again when it has left its buffers: it did not reply when it
    /// should have got a new one.
    returning: BTreeSet<SessionNumber>,
    /// Those of them for which it got no buffer. It joins them when they start again.
    unserved: BTreeSet<SessionNumber>,
    /// Whether it gets a new buffer for the same sessions.
    restarts: bool,
    /// Whether the categories of a session have changed since the provider got them.
    has_new_categories: bool,
    /// The time until which sessions wait for a change of the provider to streaming mode.
    streams_until: Option<Time>,
}

/// The least time for a change to streaming mode.
const LEAST_CHANGE: Time = Time::from_secs(1);

#[derive(Debug, Default)]
struct Member {
    /// The change of categories by which it joins or leaves; 0 if it joined with the buffer.
    change: u32,
    leaves: bool,
    /// The time from which the change is treated as confirmed, by the session's own time-outs.
    deadline: Time,
    timed_out: bool,
}

impl Member {
    /// Returns whether the session waits for the provider. A provider that does not record has
    /// replied, or its time is over.
    fn is_pending(&self, tracee: &Tracee) -> bool {
        self.change > tracee.changes() && !self.timed_out && tracee.is_unstopped()
    }
}

/// The sessions that a provider should serve.
#[derive(Debug, Default)]
pub(super) struct Demand {
    /// Sessions that record.
    pub(super) running: Vec<SessionNumber>,
    /// Sessions that are not started.
    pub(super) initialized: Vec<SessionNumber>,
    /// Sessions that wait until the provider has left its buffer.
    pub(super) ending: Vec<SessionNumber>,
    /// The time-outs of all sessions.
    pub(super) timeouts: BTreeMap<SessionNumber, Timeouts>,
}

/// How a session leaves a provider whose buffer others have, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// How the provider ended in the session.
    pub end: End,
    /// Whether the provider's buffer may have records of the session: it did not reply in time, or
    /// has stopped for all sessions before it saved them.
    pub has_rest: bool,
}

/// A step of a provider towards the demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Join(SessionNumber),
    Leave(SessionNumber, Leaving),
    Initialize,
    Start,
    SetCategories,
    /// The provider begins to stream, for the sessions that are to join.
    Stream,
    /// The provider keeps its mode, because no session is to join any more.
    KeepMode,
    Restart,
    Stop,
    Terminate,
}

impl Demand {
    /// Returns the sessions for which the provider should have a buffer. Sessions that are not
    /// started join later if others record.
    fn wanted(&self) -> &[SessionNumber] {
        if self.running.is_empty() {
            &self.initialized
        } else {
            &self.running
        }
    }
}

impl Membership {
    /// Returns the sessions, also those that are leaving.
    pub(super) fn sessions(&self) -> Vec<SessionNumber> {
        self.members.keys().copied().collect()
    }

    /// Returns those of the sessions that the provider records for. Others wait for a change of its
    /// mode.
    pub(super) fn joined(&self, sessions: &[SessionNumber]) -> Vec<SessionNumber> {
        sessions.iter().copied().filter(|session| self.has(*session)).collect()
    }

    pub(super) fn has(&self, session: SessionNumber) -> bool {
        self.members.contains_key(&session)
    }

    /// Returns whether the provider is in this session, or joins it again once it has left its
    /// buffers.
    pub(super) fn takes_part(&self, session: SessionNumber) -> bool {
        self.has(session) || self.returning.contains(&session)
    }

    /// Notes that the categories of one of its sessions have changed.
    pub(super) fn change_categories(&mut self) {
        self.has_new_categories = true;
    }

    /// Returns whether the provider does not join this session any more.
    pub(super) fn excludes(&self, session: SessionNumber) -> bool {
        self.excluded.contains(&session)
    }

    /// Returns whether the provider has not confirmed that it records for this session.
    pub(super) fn is_starting(&self, session: SessionNumber, tracee: &Tracee) -> bool {
        use TraceeState as S;
        let joins = |member: &Member| !member.leaves && member.is_pending(tracee);
        let is_changing = self.members.get(&session).is_some_and(joins);
        match tracee.state() {
            S::Initializing | S::Initialized | S::Starting { .. } => true,
            // It gets a new buffer when it has left this one.
            S::Terminating { .. } => true,
            S::Started => is_changing,
            _ => false,
        }
    }

    /// Returns whether the provider has answered the start, or the change by which it joined this
    /// session.
    pub(super) fn has_answered(&self, session: SessionNumber, tracee: &Tracee) -> bool {
        let joined = |member: &Member| member.leaves || member.change <= tracee.changes();
        tracee.replies().start && self.members.get(&session).is_none_or(joined)
    }

    /// Notes that a session starts. If the provider has stopped for it, its buffer is collected,
    /// and it gets a new one. If it got none before, it tries again.
    pub(super) fn start_again(&mut self, session: SessionNumber, tracee: &Tracee) {
        self.restarts |= self.has(session) && tracee.state() == TraceeState::Stopped;
        if self.unserved.remove(&session) {
            self.excluded.remove(&session);
        }
    }

    /// Notes that the provider, which waits for its buffer, gets none for this session.
    pub(super) fn leave_unserved(&mut self, session: SessionNumber) {
        self.excluded.insert(session);
        self.unserved.insert(session);
    }

    /// Removes an ended session.
    pub(super) fn forget(&mut self, session: SessionNumber) {
        self.excluded.remove(&session);
        self.returning.remove(&session);
        self.unserved.remove(&session);
    }

    /// Notes that the provider has left the buffers in which it did not reply in time.
    pub(super) fn has_left_buffers(&mut self) {
        for session in std::mem::take(&mut self.returning) {
            self.excluded.remove(&session);
        }
    }

    /// Returns the earliest time from which a change is treated as confirmed.
    pub(super) fn deadline(&self, tracee: &Tracee) -> Option<Time> {
        let pending = self.members.values().filter(|member| member.is_pending(tracee));
        pending.map(|member| member.deadline).chain(self.streams_until).min()
    }

    /// Treats the changes whose time is over as confirmed. Returns whether there are any.
    pub(super) fn expire(&mut self, tracee: &Tracee, now: Time) -> bool {
        let members = self.members.values_mut();
        let mut expired =
            members.filter(|it| it.is_pending(tracee) && it.deadline <= now).peekable();
        let has_expired = expired.peek().is_some();
        expired.for_each(|member| member.timed_out = true);
        has_expired || self.streams_until.is_some_and(|until| until <= now)
    }

    /// Returns the next steps of the provider at the time `now`.
    pub(super) fn next(&mut self, tracee: &Tracee, demand: &Demand, now: Time) -> Vec<Step> {
        let mut steps = self.complete_leaves(tracee);
        match tracee.state() {
            TraceeState::Registered if !demand.wanted().is_empty() => {
                self.restarts = false;
                self.has_new_categories = false;
                self.members = members(demand.wanted());
                steps.push(Step::Initialize);
            }
            // The members are those of the time when the buffer is created.
            TraceeState::Initializing if self.sessions() != demand.wanted() => {
                self.members = members(demand.wanted());
                steps.push(Step::Initialize);
            }
            TraceeState::Initialized if self.sessions() != demand.wanted() => {
                self.restarts = !demand.wanted().is_empty();
                steps.push(Step::Terminate);
            }
            TraceeState::Initialized if !demand.running.is_empty() => steps.push(Step::Start),
            TraceeState::Starting { .. } | TraceeState::Started => {
                steps.extend(self.follow(tracee, demand, now));
                return steps;
            }
            TraceeState::Stopped if self.is_over(demand) => steps.push(Step::Terminate),
            _ => {}
        }
        self.streams_until = None;
        steps
    }

    /// Joins and leaves sessions while the provider records.
    fn follow(&mut self, tracee: &Tracee, demand: &Demand, now: Time) -> Vec<Step> {
        let running = &demand.running;
        let joining: Vec<_> =
            running.iter().copied().filter(|it| !self.members.contains_key(it)).collect();
        let stays = |session: &SessionNumber| running.contains(session);
        let is_leaving =
            |session: &SessionNumber, member: &Member| !member.leaves && !stays(session);
        if running.is_empty() {
            self.streams_until = None;
            return vec![Step::Stop];
        }
        let leaves = self.members.iter().any(|(session, member)| is_leaving(session, member));
        let has_new_categories = std::mem::take(&mut self.has_new_categories);
        if joining.is_empty() && !leaves {
            self.streams_until = None;
            let mut steps = match has_new_categories {
                false => Vec::new(),
                true if tracee.can_set_categories() => vec![Step::SetCategories],
                true => self.restart(),
            };
            steps.extend(tracee.can_keep_mode().then_some(Step::KeepMode));
            return steps;
        }
        if !tracee.can_change_sessions() {
            let until = self.change_until(demand, now);
            return match tracee.can_stream() && until > now {
                true => Self::change_mode(tracee, has_new_categories),
                false => self.restart(),
            };
        }
        self.streams_until = None;
        let change = tracee.next_change();
        let changed = |session: &SessionNumber, leaves| {
            let timeouts = demand.timeouts.get(session).copied().unwrap_or_default();
            let deadline = now + if leaves { timeouts.stop } else { timeouts.start };
            Member { change, leaves, deadline, timed_out: false }
        };
        for (session, member) in &mut self.members {
            if is_leaving(session, member) {
                *member = changed(session, true);
            }
        }
        self.members.extend(joining.iter().map(|session| (*session, changed(session, false))));
        joining.into_iter().map(Step::Join).chain([Step::SetCategories]).collect()
    }

    /// Returns the time until which the sessions wait for a change to streaming mode: by the
    /// longest time-out of a start, and no longer than a session that leaves waits for a stop.
    fn change_until(&mut self, demand: &Demand, now: Time) -> Time {
        let timeouts = |session: &SessionNumber| demand.timeouts.get(session).copied();
        let concerned = self.members.keys().chain(&demand.running);
        let start = concerned.filter_map(timeouts).map(|it| it.start).max().unwrap_or_default();
        let leaving = self.members.keys().filter(|session| !demand.running.contains(session));
        let stop = leaving.filter_map(timeouts).map(|it| now + it.stop).min();
        let until = self.streams_until.unwrap_or(now + start.max(LEAST_CHANGE));
        let until = stop.map_or(until, |stop| until.min(stop));
        self.streams_until = Some(until);
        until
    }

    /// Has the provider stream. Meanwhile it records for its members only.
    fn change_mode(tracee: &Tracee, has_new_categories: bool) -> Vec<Step> {
        let categories = has_new_categories.then_some(Step::SetCategories);
        let begins = tracee.stream() == Stream::No;
        categories.into_iter().chain(begins.then_some(Step::Stream)).collect()
    }

    fn restart(&mut self) -> Vec<Step> {
        self.streams_until = None;
        self.restarts = true;
        vec![Step::Restart]
    }

    fn complete_leaves(&mut self, tracee: &Tracee) -> Vec<Step> {
        let has_left = |member: &Member| member.leaves && !member.is_pending(tracee);
        let left = self.members.iter().filter(|(_, member)| has_left(member));
        let steps = left.map(|(session, member)| {
            let has_rest = member.change > tracee.changes();
            let has_replied = !has_rest || tracee.replies().stop;
            let end = if has_replied { End::Terminated } else { End::TimedOut };
            Step::Leave(*session, Leaving { end, has_rest })
        });
        let steps = steps.collect();
        self.members.retain(|_, member| !has_left(member));
        steps
    }

    /// Returns whether a stopped provider should leave its buffer. Sessions that record do not wait
    /// for one that has stopped by itself.
    fn is_over(&mut self, demand: &Demand) -> bool {
        let joins = demand.running.iter().any(|session| !self.members.contains_key(session));
        self.restarts |= joins;
        let is_ending = |session: &SessionNumber| demand.ending.contains(session);
        let no_longer_waits = |session| is_ending(session) || demand.running.contains(session);
        let sessions = || self.members.keys();
        let ends = sessions().all(is_ending);
        self.restarts || ends || sessions().any(is_ending) && sessions().all(no_longer_waits)
    }

    /// Updates the members after the provider's actions.
    pub(super) fn after(&mut self, actions: &[TraceeAction], tracee: &Tracee) {
        let ends = |end| actions.contains(&TraceeAction::Finish(end));
        let had_buffer = actions.iter().any(|it| matches!(it, TraceeAction::Finish(_)));
        if tracee.in_session() || self.members.is_empty() {
            return;
        }
        let members = std::mem::take(&mut self.members);
        if self.restarts && ends(End::Terminated) {
            return;
        }
        if self.restarts && ends(End::TimedOut) {
            self.returning.extend(members.keys());
        }
        if !had_buffer {
            self.unserved.extend(members.keys());
        }
        self.excluded.extend(members.into_keys());
    }
}

fn members(sessions: &[SessionNumber]) -> BTreeMap<SessionNumber, Member> {
    sessions.iter().map(|session| (*session, Member::default())).collect()
}
