//! What controllers may expect: a small model of the sessions, and of the requests without a reply.
//!
//! Sessions are known by what the machine sends alone. Each has an *auditor*, a watcher that is no
//! connection: the machine sends the auditor each state before it sends it to the other watchers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use trace_protocol::control::{
    ControlError, ErrorCode, Event, KnownCategory, Reply, SessionState as S, ToController,
};
use trace_protocol::socket::PeerCredentials;

use crate::choices::Choices;
use crate::control_server::caller::Caller;
use crate::control_server::limits::ControlLimits;
use crate::control_server::machine::{ClientId, Query, SessionId, Ticket};
use crate::machine::Time;

/// The number of the auditor of session 0. Connections have smaller numbers.
pub(super) const AUDITOR: ClientId = 1 << 32;

/// The number of states of a session, and 0.
pub(super) const STATES: usize = 11;

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// The reply is due at once.
    Nothing,
    /// A session's programs record.
    Start(SessionId),
    /// A session has stopped without its results.
    Pause(SessionId),
    /// A session has ended.
    Results(SessionId),
    /// A session has ended, and its archive is not discarded.
    Archive(SessionId),
    /// A thread replies.
    Job,
}

impl Wait {
    /// Returns whether it ends in the same step as the other one.
    pub(super) fn ends_with(self, other: Self) -> bool {
        let session = |wait: Self| match wait {
            Self::Results(session) | Self::Archive(session) => Some(session),
            _ => None,
        };
        self == other || session(self).is_some() && session(self) == session(other)
    }
}

/// A session that is not removed.
#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) uid: u32,
    /// The user whose programs it records; `None` for all.
    pub(super) programs: Option<u32>,
    pub(super) name: String,
    pub(super) detached: bool,
    pub(super) buffer: u64,
    /// The connection with which it ends.
    pub(super) owner: Option<ClientId>,
    pub(super) state: S,
    /// Whether its output is open.
    pub(super) is_open: bool,
    pub(super) aborted: bool,
    pub(super) watchers: BTreeSet<ClientId>,
}

impl Tracked {
    pub(super) fn is_active(&self) -> bool {
        self.state != S::Stopped
    }

    /// Returns whether requests for a session that records are accepted.
    pub(super) fn records(&self) -> bool {
        self.state == S::Started || self.state == S::Starting && self.is_open
    }
}

/// The connections, sessions and requests.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The users of the connections that are open.
    pub(super) clients: BTreeMap<ClientId, u32>,
    /// Those of members of the control socket's group.
    pub(super) members: BTreeSet<ClientId>,
    /// Those that the machine closes, after their last message.
    pub(super) closing: BTreeMap<ClientId, u32>,
    pub(super) sessions: BTreeMap<SessionId, Tracked>,
    /// The sessions with results, by the time of their end.
    results: Vec<SessionId>,
    pub(super) last_session: SessionId,
    pub(super) waits: BTreeMap<(ClientId, u32), Wait>,
    /// The replies of this step.
    pub(super) replies: Vec<(Ticket, Reply)>,
    /// The events that watchers get next.
    expected: Vec<(ClientId, Reply)>,
    requests: BTreeMap<u32, VecDeque<Time>>,
    /// The session whose results are taken, replaced, or end with their connection.
    pub(super) removed: BTreeSet<SessionId>,
    pub(super) ended: BTreeSet<SessionId>,
    /// How often sessions had each state.
    pub(super) states: [u64; STATES],
}

impl Model {
    /// Notes a request. Returns whether it may be one too many of its user.
    pub(super) fn count_request(&mut self, uid: u32, limits: &ControlLimits, now: Time) -> bool {
        let recent = self.requests.entry(uid).or_default();
        recent.retain(|at| now.saturating_sub(*at) < Duration::from_secs(1));
        recent.push_back(now);
        recent.len() > limits.requests as usize
    }

    /// Notes a session of a request whose reply was sent. Returns its number.
    pub(super) fn initialized(&mut self, session: Tracked) -> SessionId {
        self.last_session += 1;
        self.sessions.insert(self.last_session, session);
        self.last_session
    }

    pub(super) fn is_connected(&self, client: ClientId) -> bool {
        self.clients.contains_key(&client)
    }

    /// Returns the sessions of a user that have not ended.
    pub(super) fn active_of(&self, uid: u32) -> impl Iterator<Item = &Tracked> {
        self.sessions.values().filter(move |it| it.uid == uid && it.is_active())
    }

    /// Returns the session that a request means: the only one of its user with this name, or else
    /// the only one that root may use. An empty name means all that have not ended, or else all.
    pub(super) fn find(&self, uid: u32, name: &str) -> Option<SessionId> {
        let may_use = |it: &&Tracked| uid == 0 || it.uid == uid;
        let has_active = self.sessions.values().filter(may_use).any(Tracked::is_active);
        let has_name = |it: &Tracked| match name {
            "" => it.is_active() || !has_active,
            name => it.name == name,
        };
        let found = |is_seen: &dyn Fn(&Tracked) -> bool| {
            let found = self.sessions.iter().filter(|(_, it)| has_name(it) && is_seen(it));
            Vec::from_iter(found.map(|(id, _)| *id))
        };
        match (found(&|it| it.uid == uid).as_slice(), found(&|_| uid == 0).as_slice()) {
            ([id], _) | ([], [id]) => Some(*id),
            _ => None,
        }
    }

    /// Returns the user whose programs a connected controller sees; `None` for all.
    fn programs_of(&self, client: ClientId) -> Option<u32> {
        programs(self.clients[&client], self.members.contains(&client))
    }

    /// Checks what a query for a controller shows. The group shows programs, and no sessions.
    pub(super) fn check_query(&self, client: ClientId, query: &Query) {
        let uid = self.clients[&client];
        let is_seen = |it: &Tracked| uid == 0 || it.uid == uid;
        match query {
            Query::Providers(user) => assert_eq!(*user, self.programs_of(client)),
            Query::Statistics(id) => assert!(is_seen(&self.sessions[id]), "{client} sees {id}"),
            Query::Sessions(sessions) => {
                let seen = self.sessions.iter().filter(|it| is_seen(it.1)).map(|it| *it.0);
                assert!(sessions.iter().map(|it| it.0).eq(seen), "{client} sees its sessions");
            }
        }
    }

    /// Takes a message of the machine.
    pub(super) fn receive(&mut self, client: ClientId, message: ToController) {
        let ToController { id, reply } = message;
        if client >= AUDITOR {
            return self.audit(client - AUDITOR, reply);
        }
        assert!(self.is_connected(client), "{client} has gone, and gets {reply:?}");
        if let Reply::KnownCategories(categories) = &reply {
            assert_eq!(*categories, [category_of(self.programs_of(client))], "seen by {client}");
        }
        let ticket = Ticket { client, id };
        if self.waits.remove(&(client, id)).is_some() {
            return self.replies.push((ticket, reply));
        }
        let expected = self.expected.iter().position(|it| *it == (client, reply.clone()));
        match (expected, reply) {
            (Some(index), _) => drop(self.expected.remove(index)),
            // The reply to its request comes next: it begins to watch.
            (None, Reply::Closing(_)) => {}
            (None, reply) => panic!("{client} gets {reply:?} for {id}, and expects nothing"),
        }
    }

    /// Takes an event of a session. Its other watchers get the same.
    fn audit(&mut self, id: SessionId, reply: Reply) {
        assert_eq!(self.expected, [], "each watcher gets each event");
        let session = self.sessions.get_mut(&id).expect("it is not removed");
        let (Reply::StateChanged(event)
        | Reply::Alert((event, _))
        | Reply::SnapshotTaken((event, _))) = &reply
        else {
            panic!("{reply:?} is no event");
        };
        assert_eq!(event.session, session.name);
        let state = event.state;
        self.expected.extend(session.watchers.iter().map(|it| (*it, reply.clone())));
        match reply {
            Reply::StateChanged(_) => self.entered(id, state),
            _ => assert_eq!(state, session.state, "an event has the present state"),
        }
    }

    fn entered(&mut self, id: SessionId, state: S) {
        let session = self.sessions.get_mut(&id).expect("it is not removed");
        let before = std::mem::replace(&mut session.state, state);
        self.states[state as usize] += 1;
        assert!(follows(before, state), "session {id} is {before}, then {state}");
        if state == S::Stopped {
            assert!(self.ended.contains(&id), "a session ends with its thread");
            self.results.push(id);
        }
        if state == S::Terminated {
            self.remove(id, before);
        }
    }

    /// A session is removed. Its results were taken, or are the oldest beyond the limit.
    fn remove(&mut self, id: SessionId, before: S) {
        let uid = self.sessions.remove(&id).expect("it is removed once").uid;
        if before == S::Stopped && !self.removed.contains(&id) {
            let oldest = self.results.iter().find(|it| **it == id || self.uid(**it) == Some(uid));
            assert_eq!(oldest, Some(&id), "the oldest results are forgotten");
        }
        self.results.retain(|it| *it != id);
    }

    fn uid(&self, id: SessionId) -> Option<u32> {
        self.sessions.get(&id).map(|it| it.uid)
    }

    pub(super) fn watch(&mut self, id: SessionId, client: ClientId) {
        let session = self.sessions.get_mut(&id).expect("it is not removed");
        session.watchers.insert(client);
    }

    /// Expects the event that a new watcher gets first.
    pub(super) fn expect_first_event(&mut self, id: SessionId, client: ClientId) {
        let Tracked { name, state, .. } = &self.sessions[&id];
        let event = Event { session: name.clone(), state: *state };
        self.expected.push((client, Reply::StateChanged(event)));
    }

    /// A connection ends, with its requests and the sessions that are not detached.
    pub(super) fn disconnected(&mut self, client: ClientId) {
        self.clients.remove(&client);
        self.waits.retain(|it, _| it.0 != client);
        self.expected.retain(|it| it.0 != client);
        for (id, session) in &mut self.sessions {
            session.watchers.remove(&client);
            if session.owner == Some(client) {
                self.removed.insert(*id);
            }
        }
    }

    /// Checks what holds between two inputs.
    pub(super) fn check(&self, limits: &ControlLimits) {
        assert_eq!(self.expected, [], "each watcher gets each event");
        for ((client, id), wait) in &self.waits {
            let state = |session: &SessionId| self.sessions.get(session).map(|it| it.state);
            let waits = match wait {
                Wait::Nothing => false,
                Wait::Start(session) => state(session) == Some(S::Starting),
                Wait::Pause(session) => state(session) == Some(S::Pausing),
                Wait::Results(session) | Wait::Archive(session) => {
                    state(session).is_some_and(|it| it != S::Stopped)
                }
                Wait::Job => true,
            };
            assert!(waits, "the request {id} of {client} is lost: {wait:?}");
        }
        for uid in super::programs::USERS {
            let (number, buffers) =
                self.active_of(uid).fold((0, 0), |(number, sum), it| (number + 1, sum + it.buffer));
            assert!(number <= limits.sessions && buffers <= limits.buffers, "the quota of {uid}");
            let results = self.sessions.values().filter(|it| it.uid == uid && !it.is_active());
            assert!(results.count() <= limits.results, "the results of {uid}");
            let open = self.clients.values().filter(|it| **it == uid).count();
            assert!(open <= limits.clients, "the connections of {uid}");
        }
        for session in self.sessions.values() {
            let is_here = session.owner.is_none_or(|it| self.is_connected(it));
            let ends = matches!(session.state, S::Stopping | S::Terminating);
            let opens = session.state == S::Starting && !session.is_open;
            assert!(is_here || ends || opens, "{session:?} ends with its connection");
        }
    }
}

/// One user is a member of the control socket's group at times.
pub(super) fn is_member(uid: u32, choices: &mut Choices<'_>) -> bool {
    uid == super::programs::USERS[1] && choices.one_in(3)
}

pub(super) fn caller(uid: u32, is_member: bool) -> Caller {
    let peer = PeerCredentials { pid: 1, uid, gid: uid };
    Caller { peer, all_users: uid == 0 || is_member }
}

/// Returns the user whose programs a controller sees and records; `None` for all.
pub(super) fn programs(uid: u32, is_member: bool) -> Option<u32> {
    match (uid, is_member) {
        (0, _) | (_, true) => None,
        (uid, false) => Some(uid),
    }
}

/// Returns the category of the programs of a user, or of all.
pub(super) fn category_of(user: Option<u32>) -> KnownCategory {
    KnownCategory { name: format!("{user:?}"), ..KnownCategory::default() }
}

/// Returns whether a session can have this state after the other one.
fn follows(before: S, state: S) -> bool {
    let next: &[S] = match before {
        S::Initialized => &[S::Starting, S::Terminated],
        S::Starting => &[S::Started, S::Terminated],
        S::Started => &[S::Pausing, S::Stopping, S::Terminating, S::Stopped],
        S::Pausing => &[S::Paused, S::Stopping, S::Terminating, S::Stopped],
        S::Paused => &[S::Starting, S::Stopping, S::Terminating, S::Stopped],
        S::Stopping => &[S::Terminating, S::Stopped],
        S::Terminating => &[S::Stopped],
        S::Stopped => &[S::Terminated],
        S::Ready | S::Terminated => &[],
    };
    next.contains(&state)
}

/// The outcome of a request in the step in which it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The reply follows later.
    Waits,
    /// The connection is closed: its user has sent too many requests.
    Closed,
    Failed(ErrorCode),
    /// A reply of this kind.
    Replied(u16),
}

impl Outcome {
    pub(super) fn of(reply: &Reply) -> Self {
        match reply {
            Reply::Failed(ControlError { code, .. }) => Self::Failed(*code),
            reply => Self::Replied(reply.kind()),
        }
    }
}
