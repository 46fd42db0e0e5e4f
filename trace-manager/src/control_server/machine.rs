//! The state machine of the control socket, without I/O.
//!
//! [`ControlMachine::on`] takes an [`Input`] and the time, and returns [`Output`]s in order. A
//! session has these phases:
//!
//! ```text
//!                            opened, and then
//!  Initialize        Start   recording, or Tick              Stop, Terminate, Disconnected, Tick
//!  ------> Initialized ----> Starting -----> Started --------------------------> Stopping
//!              |                |  ^           |  |                                  |
//!              |     not opened |  |           |  | ended (a trigger, an error)      | ended
//!              v                v  |           |  v                                  v
//!            (removed) <--------+--|-----------|-> Stopped, if it is detached and nobody waits for it
//!                                  |           |
//!                            Start |           v  Stop without results
//!                                  +- Paused <-- Pausing
//!                                       stopped
//! ```
//!
//! A start waits until the programs record. A stop, or the end of the session, ends the wait. Once
//! the output is open, requests for a session that records are accepted in Starting, too.
//!
//! Paused and Pausing end as Started does. A session that ends by itself is Stopping, too. Watchers
//! are notified of each phase, and of the removal of the session.
//!
//! A session belongs to the user that initialized it. Requests find it by its name; root finds the
//! sessions of all users. It records the programs of this user, or those of all users if its
//! controller may see them.
//!
//! A recorder has one session, [`SERVED`], which it has started itself and ends itself. Controllers
//! can initialize none, and not abort this one.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod interleavings;
mod messages;
mod pause;
mod quota;
mod requests;
mod session;
#[cfg(test)]
mod tests;
mod visible;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use trace_protocol::control::{
    ConfigurationInfo, ControlError, Event, GeneralError, Reply, SessionState, Summary,
    ToController, TraceConfig, EVENT,
};

#[cfg(any(test, feature = "fuzzing"))]
pub(super) use self::interleavings::choose_request;
pub(super) use self::messages::{
    ClientId, FollowJob, Input, OpenRequest, Output, Query, SessionEvent, SessionId, SnapshotJob,
    Ticket,
};
use self::requests::aborted;
use self::session::{ControlledSession, Phase, Starting, Waiting};
use super::caller::Caller;
use super::event_queue::EventQueue;
use super::limits::{ControlLimits, Rates};
use super::CategoryGroups;
use crate::machine::Time;
use crate::sink::StreamLease;

/// The number of the session that the process has started itself.
pub(super) const SERVED: SessionId = 1;

/// The time for which the end of the daemon waits for its sessions. The output of a session may be
/// a pipe that nobody reads.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// The connections and sessions of all users.
#[derive(Debug)]
pub(super) struct ControlMachine {
    clients: BTreeMap<ClientId, Caller>,
    /// The connections of the daemon itself.
    own: BTreeSet<ClientId>,
    /// The users of connections that are closing, and that still take memory.
    closing: BTreeMap<ClientId, u32>,
    sessions: BTreeMap<SessionId, ControlledSession>,
    /// Those of them that have ended, in the order of their ends.
    results: Vec<SessionId>,
    last_session: SessionId,
    groups: CategoryGroups,
    /// The use of the configuration, and its user.
    configuration: (u32, ConfigurationInfo),
    limits: ControlLimits,
    requests: Rates,
    snapshots: Rates,
    category_changes: Rates,
    starts: Rates,
    flushes: Rates,
    /// The number of snapshots of each user that are not written yet.
    running_snapshots: BTreeMap<u32, usize>,
    /// The live streams of each user, until they end.
    streams: BTreeMap<u32, Vec<Weak<StreamLease>>>,
    /// Running queries of categories, by user, and the requests that share each result.
    category_queries: BTreeMap<Option<u32>, Vec<Ticket>>,
    /// Whether this process is a recorder: it has only the session [`SERVED`].
    is_recorder: bool,
    is_ending: bool,
    /// Whether the daemon ends without waiting any longer for its sessions.
    gave_up: bool,
    /// The time at which it does.
    ends_at: Option<Time>,
    outputs: Vec<Output>,
}

impl ControlMachine {
    pub(super) fn new(groups: CategoryGroups, limits: ControlLimits) -> Self {
        Self {
            clients: BTreeMap::new(),
            own: BTreeSet::new(),
            closing: BTreeMap::new(),
            sessions: BTreeMap::new(),
            results: Vec::new(),
            last_session: 0,
            groups,
            configuration: Default::default(),
            limits,
            requests: Rates::new(limits.requests, Duration::from_secs(1)),
            snapshots: Rates::new(limits.snapshots, Duration::from_secs(60)),
            category_changes: Rates::new(limits.category_changes, Duration::from_secs(60)),
            starts: Rates::new(limits.starts, Duration::from_secs(60)),
            flushes: Rates::new(limits.flushes, Duration::from_secs(1)),
            running_snapshots: BTreeMap::new(),
            streams: BTreeMap::new(),
            category_queries: BTreeMap::new(),
            is_recorder: false,
            is_ending: false,
            gave_up: false,
            ends_at: None,
            outputs: Vec::new(),
        }
    }

    /// Adds the session [`SERVED`], which this process has started. Called before all inputs.
    /// `no_pause` is why it cannot stop without its results, if it cannot.
    pub(super) fn serve(
        &mut self,
        owner: Caller,
        config: TraceConfig,
        queue: Arc<EventQueue>,
        no_pause: Option<String>,
    ) {
        self.is_recorder = true;
        self.last_session = SERVED;
        self.sessions.insert(SERVED, ControlledSession::served(owner, config, queue, no_pause));
    }

    /// Returns whether there are no sessions.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Returns the time at which an [`Input::Tick`] is due.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.sessions.values().filter_map(ControlledSession::deadline).chain(self.ends_at).min()
    }

    /// Returns whether the daemon ends and all sessions have ended, or take too long.
    pub(super) fn has_ended(&self) -> bool {
        self.gave_up || self.is_ending && !self.sessions.values().any(ControlledSession::is_active)
    }

    /// The transition function. Returns the actions, in order.
    pub(super) fn on(&mut self, input: Input, now: Time) -> Vec<Output> {
        match input {
            Input::Connected(client, caller) => self.connected(client, caller),
            Input::IsOwn(client) => drop(self.own.insert(client)),
            Input::Restore(request) => self.restore(request),
            Input::Request(client, message, descriptor) => {
                self.request(client, *message, descriptor, now);
            }
            Input::Disconnected(client) => {
                self.closing.remove(&client);
                self.disconnected(client);
            }
            Input::Session(id, event) => self.session_event(id, event, now),
            Input::KnownCategories(user, reply) => self.known_categories(user, reply),
            Input::SnapshotWritten(uid, ticket, result) => {
                self.running_snapshots.entry(uid).and_modify(|number| *number -= 1);
                self.running_snapshots.retain(|_, number| *number != 0);
                self.reply(ticket, result.map_or_else(Reply::Failed, Reply::Snapshot));
            }
            Input::StartedAgain(id, ticket, result) => self.started_again(id, ticket, result, now),
            Input::CategoriesSet(id, ticket, result) => self.categories_set(id, ticket, result),
            Input::Groups(groups) => self.groups = groups,
            Input::Configuration(uid, configuration) => self.configuration = (uid, *configuration),
            Input::ShutDown => self.shut_down(now),
            Input::Tick => self.tick(now),
        }
        std::mem::take(&mut self.outputs)
    }

    fn connected(&mut self, client: ClientId, mut caller: Caller) {
        let uid = caller.peer.uid;
        // A recorder is for its user only.
        caller.all_users &= !self.is_recorder || uid == 0;
        if self.own.contains(&client) {
            self.clients.insert(client, caller);
            return;
        }
        let counts = |(id, it): &(&ClientId, &Caller)| it.peer.uid == uid && !self.own.contains(id);
        let open = self.clients.iter().filter(counts).count();
        let of_user = open + self.closing_of(uid);
        self.clients.insert(client, caller);
        if of_user >= self.limits.clients {
            self.close(client, &format!("more than {} connections", self.limits.clients));
        }
    }

    /// Starts a session of a killed daemon again. It continues without a connection.
    fn restore(&mut self, request: Box<OpenRequest>) {
        let OpenRequest { config, caller, queue, .. } = &*request;
        self.last_session += 1;
        let session = ControlledSession::restored(*caller, config.clone(), Arc::clone(queue));
        self.sessions.insert(self.last_session, session);
        self.outputs.push(Output::Open(self.last_session, request));
    }

    /// Returns the number of closing connections of a user.
    fn closing_of(&self, uid: u32) -> usize {
        self.closing.values().filter(|it| **it == uid).count()
    }

    /// Ends a connection from this side. The reason is not sent if too many are closing.
    fn close(&mut self, client: ClientId, reason: &str) {
        let Some(Caller { peer, .. }) = self.clients.get(&client).copied() else { return };
        if self.closing_of(peer.uid) >= self.limits.clients {
            self.outputs.push(Output::Disconnect(client));
            return self.disconnected(client);
        }
        let reply = Reply::Closing(reason.to_owned());
        self.outputs.push(Output::Send(client, Box::new(ToController { id: EVENT, reply })));
        self.outputs.push(Output::Close(client));
        self.closing.insert(client, peer.uid);
        self.disconnected(client);
    }

    /// Ends the client's sessions that are not detached, and writes their results.
    fn disconnected(&mut self, client: ClientId) {
        self.clients.remove(&client);
        self.own.remove(&client);
        let sessions: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in sessions {
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            session.forget(client);
            if session.client == Some(client) {
                self.end(id);
            }
        }
    }

    /// Ends a session in any phase.
    fn end(&mut self, id: SessionId) {
        self.end_start(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.deadline = None;
        match &mut session.phase {
            Phase::Initialized(_) | Phase::Stopped(_) => drop(self.remove(id)),
            Phase::Starting(starting) => starting.stops = true,
            Phase::Started | Phase::Pausing(_) | Phase::Paused => self.stop(id),
            Phase::Stopping => {}
        }
    }

    /// Removes a session, and notifies its watchers.
    fn remove(&mut self, id: SessionId) -> Option<ControlledSession> {
        let session = self.sessions.remove(&id)?;
        self.results.retain(|it| *it != id);
        let event = Event { state: SessionState::Terminated, ..session.event() };
        self.notify_all(&session.watchers(), &Reply::StateChanged(event));
        Some(session)
    }

    /// Ends a session that has started.
    fn stop(&mut self, id: SessionId) {
        self.refuse_pauses(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.deadline = None;
        self.outputs.push(match session.aborted {
            true => Output::Discard(id),
            false => Output::Stop(id),
        });
        self.enter(id, Phase::Stopping);
    }

    /// Aborts a session that is stopping, or that [`end`](Self::end) ends afterwards.
    fn abort(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let was_aborted = std::mem::replace(&mut session.aborted, true);
        if !was_aborted && matches!(session.phase, Phase::Stopping) {
            self.outputs.push(Output::Discard(id));
            self.enter(id, Phase::Stopping);
        }
    }

    /// Changes a session's phase, and notifies its watchers.
    fn enter(&mut self, id: SessionId, phase: Phase) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.phase = phase;
        let reply = Reply::StateChanged(session.event());
        self.notify(id, &reply);
    }

    fn notify(&mut self, id: SessionId, reply: &Reply) {
        let Some(session) = self.sessions.get(&id) else { return };
        self.notify_all(&session.watchers(), reply);
    }

    fn notify_all(&mut self, watchers: &[ClientId], reply: &Reply) {
        for client in watchers {
            let message = ToController { id: EVENT, reply: reply.clone() };
            self.outputs.push(Output::Send(*client, Box::new(message)));
        }
    }

    fn session_event(&mut self, id: SessionId, event: SessionEvent, now: Time) {
        match event {
            SessionEvent::Opened => self.opened(id, now),
            SessionEvent::Recording => self.recording(id, now),
            SessionEvent::NotOpened(error) => self.not_opened(id, error),
            SessionEvent::Alert(name) => {
                self.announce(id, |event| Reply::Alert((event, name)));
            }
            SessionEvent::Snapshot(info) => {
                self.announce(id, |event| Reply::SnapshotTaken((event, *info)));
            }
            SessionEvent::Paused => self.paused(id),
            SessionEvent::Stopping => self.stopping(id),
            SessionEvent::Ended(summary) => self.ended(id, summary),
        }
    }

    /// Notifies the watchers of a session of an event from its queue.
    fn announce(&mut self, id: SessionId, reply: impl FnOnce(Event) -> Reply) {
        let Some(session) = self.sessions.get(&id) else { return };
        session.queue.pop();
        let reply = reply(session.event());
        self.notify(id, &reply);
    }

    fn opened(&mut self, id: SessionId, now: Time) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let until = session.start_deadline(now);
        let Phase::Starting(starting) = &mut session.phase else { return };
        starting.until = Some(until);
        let stops = starting.stops;
        if stops || self.is_ending {
            self.end(id);
        }
    }

    /// Notes that the programs of a session record, or have not replied in time. Its time begins
    /// with the first start.
    fn recording(&mut self, id: SessionId, now: Time) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.starts_until().is_some() && session.begin(now) {
            self.outputs.push(Output::Begin(id));
        }
        self.end_start(id);
    }

    /// Ends the wait of a start, if its session has opened.
    fn end_start(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(&id) else { return };
        let Phase::Starting(Starting { ticket, until: Some(_), .. }) = session.phase else {
            return;
        };
        self.enter(id, Phase::Started);
        self.reply(ticket, Reply::Started);
    }

    /// Notes that a session ends which no request has stopped.
    fn stopping(&mut self, id: SessionId) {
        self.end_start(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Phase::Started | Phase::Pausing(_) | Phase::Paused = session.phase {
            session.deadline = None;
            self.refuse_pauses(id);
            self.enter(id, Phase::Stopping);
        }
    }

    /// Removes a session without results.
    fn not_opened(&mut self, id: SessionId, error: ControlError) {
        let Some(session) = self.remove(id) else { return };
        let started = match session.phase {
            Phase::Starting(Starting { ticket, .. }) => Some(ticket),
            _ => None,
        };
        let waiting = session.waiting.into_iter().map(|it| it.ticket);
        for ticket in started.into_iter().chain(waiting) {
            self.reply(ticket, Reply::Failed(error.clone()));
        }
    }

    /// Replies to those that wait for the results, or else keeps these.
    fn ended(&mut self, id: SessionId, mut summary: Box<Summary>) {
        self.end_start(id);
        self.refuse_pauses(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.deadline = None;
        summary.session.clone_from(&session.config.name);
        let waiting = std::mem::take(&mut session.waiting);
        let is_here = session.client.is_none_or(|client| self.clients.contains_key(&client));
        let is_kept = waiting.is_empty() && is_here;
        let uid = session.uid();
        // An abort that comes too late does not remove the archive.
        let is_discarded = session.aborted && summary.bytes == 0;
        self.results.push(id);
        self.enter(id, Phase::Stopped(summary.clone()));
        self.send_results(waiting, is_discarded, &summary);
        match is_kept {
            true => self.forget_results(uid),
            false => drop(self.remove(id)),
        }
    }

    /// Replies to those that wait for the results. A stop has none if another request has aborted
    /// the session.
    fn send_results(&mut self, waiting: Vec<Waiting>, is_discarded: bool, summary: &Summary) {
        let (code, reason) = aborted();
        let failed = Reply::Failed(ControlError { code, reason });
        for Waiting { ticket, is_stop } in waiting {
            let reply = match is_stop && is_discarded {
                true => failed.clone(),
                false => Reply::Stopped(summary.clone()),
            };
            self.reply(ticket, reply);
        }
    }

    /// Forgets the oldest results of a user beyond the limit.
    fn forget_results(&mut self, uid: u32) {
        let is_of_user = |id: &&SessionId| self.sessions.get(id).is_some_and(|it| it.uid() == uid);
        let results: Vec<SessionId> = self.results.iter().filter(is_of_user).copied().collect();
        let excess = results.len().saturating_sub(self.limits.results);
        for id in results.into_iter().take(excess) {
            self.remove(id);
        }
    }

    fn known_categories(&mut self, user: Option<u32>, reply: Box<Reply>) {
        let mut tickets = self.category_queries.remove(&user).unwrap_or_default();
        tickets.retain(|ticket| self.clients.contains_key(&ticket.client));
        self.outputs.push(Output::Reply(tickets, reply));
    }

    fn shut_down(&mut self, now: Time) {
        self.is_ending = true;
        if self.is_recorder {
            let reason = "the recording has failed";
            self.not_opened(SERVED, ControlError::general(GeneralError::ShuttingDown, reason));
        }
        self.ends_at = Some(now.saturating_add(END_TIMEOUT));
        let sessions: Vec<SessionId> = self.sessions.keys().copied().collect();
        sessions.into_iter().for_each(|id| self.end(id));
    }

    /// Ends the waits of starts, and stops the sessions, whose time is over.
    fn tick(&mut self, now: Time) {
        self.gave_up = self.ends_at.is_some_and(|at| at <= now);
        let over = |deadline: fn(&ControlledSession) -> Option<Time>| -> Vec<SessionId> {
            let is_over =
                |session: &ControlledSession| deadline(session).is_some_and(|at| at <= now);
            let sessions = self.sessions.iter().filter(|(_, session)| is_over(session));
            sessions.map(|(id, _)| *id).collect()
        };
        let (started, ended) = (over(ControlledSession::starts_until), over(|it| it.deadline));
        started.into_iter().for_each(|id| self.recording(id, now));
        ended.into_iter().for_each(|id| self.end(id));
    }

    /// Replies to a request, if its controller is still connected.
    fn reply(&mut self, ticket: Ticket, reply: Reply) {
        if self.clients.contains_key(&ticket.client) {
            let message = ToController { id: ticket.id, reply };
            self.outputs.push(Output::Send(ticket.client, Box::new(message)));
        }
    }

    fn fail(&mut self, ticket: Ticket, code: GeneralError, reason: impl Into<String>) {
        self.reply(ticket, Reply::Failed(ControlError::general(code, reason)));
    }
}
