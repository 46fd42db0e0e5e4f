//! The daemon without I/O, in any order of events: controllers, sessions, programs and deaths.
//!
//! Both machines are the real ones: that of the control socket, and the coordinator. The threads of
//! sessions, the programs and the controllers are small models, and each step is a choice of one of
//! them. What must hold after each step is in the modules:
//!
//! | module | subject |
//! |---|---|
//! | `model` | sessions and requests: each state follows the last one, each event gets to each watcher, each request has one reply, at once or when its session does what it waits for; quotas |
//! | `requests` | the outcomes that each request may have |
//! | `programs` | records: a session that has started gets each record of each of its programs once |
//! | `threads` | sessions: only one that is open is stopped, paused, and started again |

mod model;
mod programs;
mod requests;
#[cfg(test)]
mod tests;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use trace_protocol::control::{
    ControlError, ErrorCode, GeneralError, Reply, Request, SessionState as S, Summary,
    ToController, ToDaemon, TraceConfig,
};

use self::model::{caller, is_member, Model, Outcome, Tracked, Wait, AUDITOR, STATES};
use self::programs::{Programs, USERS};
use self::threads::Threads;
use super::{
    ClientId, ControlMachine, Input, OpenRequest, Output, SessionEvent, SessionId, Ticket,
};
use crate::choices::Choices;
use crate::control_server::caller::Caller;
use crate::control_server::event_queue::EventQueue;
use crate::control_server::limits::ControlLimits;
use crate::foreign::ForeignDescriptor;
use crate::machine::Time;
use crate::sink::StreamLease;

pub(in crate::control_server) use self::requests::choose as choose_request;

/// Runs an interleaving to its end. Returns what it had.
///
/// # Panics
///
/// If one of them does what it must not do.
pub(crate) fn run(choices: &mut Choices<'_>) -> Counts {
    let mut world = World::new(choices);
    while !choices.is_empty() {
        world.step(choices);
    }
    world.end();
    let Programs { written, archived, .. } = world.threads.programs;
    let inputs = world.inputs + world.threads.inputs;
    Counts { inputs, records: written, archived, states: world.model.states }
}

/// What an interleaving had.
#[cfg_attr(not(test), expect(dead_code, reason = "tests sum it up"))]
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) inputs: u64,
    /// Records of programs, and those that sessions got.
    pub(crate) records: u64,
    pub(crate) archived: u64,
    /// How often sessions entered each state.
    pub(crate) states: [u64; STATES],
}

/// What another thread does, or the control thread without the machine.
#[derive(Debug)]
enum Job {
    Snapshot(u32, Ticket),
    Categories(Option<u32>),
    Reply(Ticket, Box<Reply>),
}

struct World {
    machine: ControlMachine,
    limits: ControlLimits,
    now: Time,
    model: Model,
    threads: Threads,
    jobs: Vec<Job>,
    /// Live streams that have not ended.
    streams: Vec<Arc<StreamLease>>,
    last_client: ClientId,
    last_request: u32,
    is_ending: bool,
    inputs: u64,
}

impl World {
    fn new(choices: &mut Choices<'_>) -> Self {
        let limits = ControlLimits {
            clients: 3,
            sessions: 3,
            results: 2,
            buffers: 5 << 20,
            requests: 12,
            snapshots: 6,
            category_changes: 6,
            running_snapshots: 2,
            streams: 2,
            ..ControlLimits::default()
        };
        let mut world = Self {
            machine: ControlMachine::new(BTreeMap::new(), limits),
            limits,
            now: Time::ZERO,
            model: Model::default(),
            threads: Threads::default(),
            jobs: Vec::new(),
            streams: Vec::new(),
            last_client: 1,
            last_request: 0,
            is_ending: false,
            inputs: 0,
        };
        for name in ["a", "b"].into_iter().take(usize::from(choices.below(3))) {
            world.restore(name, choices);
        }
        world
    }

    /// Starts a session of a killed daemon.
    fn restore(&mut self, name: &str, choices: &mut Choices<'_>) {
        let uid = choices.of(&USERS);
        let caller = caller(uid, is_member(uid, choices));
        let config = TraceConfig {
            name: name.to_owned(),
            detached: true,
            buffer_size: 1 << 20,
            ..TraceConfig::default()
        };
        self.track(caller, None, &config, S::Starting);
        let (descriptor, queue) = (Some(ForeignDescriptor::none()), Arc::<EventQueue>::default());
        let request =
            OpenRequest { config, descriptor, caller, queue, earlier: None, is_own: true };
        self.on(Input::Restore(Box::new(request)));
        self.audit();
    }

    fn track(&mut self, by: Caller, owner: Option<ClientId>, config: &TraceConfig, state: S) {
        let session = Tracked {
            uid: by.peer.uid,
            programs: model::programs(by.peer.uid, by.all_users),
            name: config.name.clone(),
            detached: config.detached,
            buffer: config.buffer_size,
            owner,
            state,
            is_open: false,
            aborted: false,
            watchers: Default::default(),
        };
        self.model.initialized(session);
    }

    /// Lets the model watch the newest session.
    fn audit(&mut self) {
        let id = self.model.last_session;
        let session = self.machine.sessions.get_mut(&id).expect("sessions are numbered in turn");
        let _alerts = session.watch(AUDITOR + id);
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(128) {
            0..=23 => self.request(choices),
            24..=26 => self.connect(choices),
            27 => self.disconnect(choices),
            28..=50 => self.thread(choices),
            51..=119 => self.threads.step_programs(choices, self.now),
            120..=123 => self.pass(Duration::from_millis(u64::from(choices.byte()) * 8)),
            124..=125 => self.work(choices),
            126 if choices.one_in(32) => self.shut_down(),
            126 => {}
            _ => self.streams.truncate(1),
        }
        self.tick();
        self.model.check(&self.limits);
    }

    fn on(&mut self, input: Input) {
        self.inputs += 1;
        for output in self.machine.on(input, self.now) {
            self.perform(output);
        }
    }

    /// Passes time, as the control thread does.
    fn tick(&mut self) {
        let is_due = |it: &Self| it.machine.deadline().is_some_and(|at| at <= it.now);
        if is_due(self) {
            self.on(Input::Tick);
            assert!(!is_due(self) || self.machine.has_ended(), "a tick has its effect at once");
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.threads.programs.tick(self.now);
    }

    fn connect(&mut self, choices: &mut Choices<'_>) {
        self.last_client += 1;
        let (client, uid) = (self.last_client, choices.of(&[0, 0, 1000, 1000, 1001]));
        let is_member = is_member(uid, choices);
        self.model.clients.insert(client, uid);
        self.model.members.extend(is_member.then_some(client));
        self.on(Input::Connected(client, caller(uid, is_member)));
    }

    /// A connection ends: by its controller, or because the machine has closed it.
    fn disconnect(&mut self, choices: &mut Choices<'_>) {
        let closing = self.model.closing.keys().chain(self.model.clients.keys()).copied();
        let Some(client) = choices.of_any(closing) else { return };
        self.model.closing.remove(&client);
        self.model.disconnected(client);
        self.on(Input::Disconnected(client));
    }

    fn shut_down(&mut self) {
        self.is_ending = true;
        let active = self.model.sessions.iter().filter(|(_, it)| it.state == S::Stopped);
        self.model.removed.extend(active.map(|(id, _)| *id));
        self.on(Input::ShutDown);
    }

    /// Makes a request, and compares its outcome with that of the model.
    fn request(&mut self, choices: &mut Choices<'_>) {
        let Some(client) = choices.of_any(self.model.clients.keys().copied()) else { return };
        self.last_request += 1;
        let ticket = Ticket { client, id: self.last_request };
        let uid = self.model.clients[&client];
        let seen = self.model.sessions.values().filter(|it| uid == 0 || it.uid == uid);
        let name = choices.of_any(seen.map(|it| it.name.clone()));
        let is_named = !choices.one_in(4);
        let request = requests::choose(choices, name.filter(|_| is_named));
        let mut expected = self.model.expect(ticket, &request, &self.limits);
        if self.is_ending {
            let error = ErrorCode::General(GeneralError::ShuttingDown);
            (expected.outcomes, expected.wait) = (vec![Outcome::Failed(error)], Wait::Nothing);
        }
        if self.model.count_request(uid, &self.limits, self.now) {
            expected.outcomes.push(Outcome::Closed);
        }
        self.model.waits.insert((client, ticket.id), expected.wait);
        let outcome = self.send(ticket, &request, expected.session);
        assert!(expected.outcomes.contains(&outcome), "{outcome:?} of {request:?}: {expected:?}");
        if let (Request::Terminate(it), Outcome::Waits, Some(id)) =
            (&request, outcome, expected.session)
        {
            let session = self.model.sessions.get_mut(&id);
            session.into_iter().for_each(|session| session.aborted |= !it.write_results);
        }
    }

    fn send(&mut self, ticket: Ticket, request: &Request, session: Option<SessionId>) -> Outcome {
        self.model.replies.clear();
        let uid = self.model.clients[&ticket.client];
        match (request, session) {
            (Request::Watch(_), Some(id)) if !self.is_ending => {
                self.model.expect_first_event(id, ticket.client);
            }
            (Request::Terminate(it), Some(id))
                if !it.write_results && self.model.sessions[&id].state == S::Stopped => {}
            (Request::Stop(_) | Request::Terminate(_), Some(id)) => {
                self.model.removed.insert(id);
            }
            (Request::Initialize(config), _) => {
                // It replaces the results of its name.
                let same =
                    self.model.sessions.iter().filter(|(_, it)| {
                        it.uid == uid && it.name == config.name && !it.is_active()
                    });
                let same = Vec::from_iter(same.map(|(id, _)| *id));
                self.model.removed.extend(same);
            }
            _ => {}
        }
        let message = ToDaemon { id: ticket.id, request: request.clone() };
        let descriptor = (request.descriptors() > 0).then(ForeignDescriptor::none);
        self.on(Input::Request(ticket.client, Box::new(message), descriptor));
        let Some((_, reply)) = self.model.replies.iter().find(|it| it.0 == ticket) else {
            return match self.model.is_connected(ticket.client) {
                true => Outcome::Waits,
                false => Outcome::Closed,
            };
        };
        match (request, reply, session) {
            (Request::Initialize(config), Reply::Initialized(name), _) => {
                let config = TraceConfig { name: name.clone(), ..config.clone() };
                let outcome = Outcome::of(reply);
                let caller = caller(uid, self.model.members.contains(&ticket.client));
                self.track(caller, Some(ticket.client), &config, S::Initialized);
                self.audit();
                return outcome;
            }
            (Request::Watch(_), Reply::Watching, Some(id)) => self.model.watch(id, ticket.client),
            _ => {}
        }
        let (_, reply) = self.model.replies.iter().find(|it| it.0 == ticket).expect("it was found");
        Outcome::of(reply)
    }

    /// Something happens in the thread of a session.
    fn thread(&mut self, choices: &mut Choices<'_>) {
        self.threads.take_changes();
        let Some(id) = choices.of_any(self.threads.open_or_opening()) else { return };
        match choices.below(8) {
            0 => self.threads.raise_alert(id),
            1 if choices.one_in(4) => self.threads.trigger_stop(id, self.now),
            2 if choices.one_in(4) => self.threads.fail(id, self.now),
            3..=4 => self.open(id, !choices.one_in(6)),
            _ => {
                if let Some(event) = self.threads.next_event(id) {
                    self.forward(id, event);
                }
            }
        }
    }

    /// The output of a session is open, or cannot be opened.
    fn open(&mut self, id: SessionId, is_open: bool) {
        let event = match self.threads.open(id, is_open, self.now) {
            None => return,
            Some(true) => {
                self.model.sessions.get_mut(&id).expect("it is not removed").is_open = true;
                SessionEvent::Opened
            }
            Some(false) => {
                SessionEvent::NotOpened(ControlError::general(GeneralError::Output, "full"))
            }
        };
        self.forward(id, event);
    }

    /// The control thread takes an event of a session's thread. Those that wait for it get their
    /// replies.
    fn forward(&mut self, id: SessionId, event: SessionEvent) {
        self.model.replies.clear();
        let wait = match &event {
            SessionEvent::Recording => Some(Wait::Start(id)),
            SessionEvent::Paused => Some(Wait::Pause(id)),
            SessionEvent::Ended(_) | SessionEvent::NotOpened(_) => Some(Wait::Results(id)),
            _ => None,
        };
        let mut is_discarded = false;
        if let SessionEvent::Ended(summary) = &event {
            self.model.ended.insert(id);
            is_discarded = summary.bytes == 0;
        }
        let has_ended = wait == Some(Wait::Results(id));
        let ends = |it: &Wait| wait.is_some_and(|wait| it.ends_with(wait));
        let waited = self.model.waits.iter().filter(|it| ends(it.1)).map(|it| (*it.0, *it.1));
        let waited = Vec::from_iter(waited);
        let session = &self.model.sessions[&id];
        let is_kept = waited.is_empty()
            && session.owner.is_none_or(|it| self.model.is_connected(it))
            && matches!(event, SessionEvent::Ended(_));
        if has_ended && !is_kept {
            self.model.removed.insert(id);
        }
        let state = session.state;
        self.on(Input::Session(id, event));
        for ((client, request), wait) in waited {
            let replies =
                self.model.replies.iter().filter(|it| it.0 == Ticket { client, id: request });
            let outcomes = Vec::from_iter(replies.map(|it| Outcome::of(&it.1)));
            let is_result =
                matches!(outcomes[..], [it] if requests::is_result(wait, it, is_discarded));
            assert!(is_result, "{outcomes:?} for {wait:?}, in {state}");
        }
        for (_, reply) in &self.model.replies {
            if let Reply::Stopped(summary) = reply {
                let bytes = if is_discarded { 0 } else { id };
                assert_eq!(summary.bytes, bytes, "the results are those of the session");
            }
        }
        if has_ended {
            assert_eq!(self.model.sessions.contains_key(&id), is_kept, "who takes its results");
        }
    }

    /// Another thread does its work.
    fn work(&mut self, choices: &mut Choices<'_>) {
        let Some(index) = choices.of_any(0..self.jobs.len()) else { return };
        match self.jobs.swap_remove(index) {
            Job::Snapshot(uid, ticket) => {
                let result = match choices.one_in(4) {
                    true => Err(ControlError::general(GeneralError::Output, "full")),
                    false => Ok(7),
                };
                self.on(Input::SnapshotWritten(uid, ticket, result));
            }
            Job::Categories(user) => {
                let reply = Reply::KnownCategories(vec![model::category_of(user)]);
                self.on(Input::KnownCategories(user, Box::new(reply)));
            }
            Job::Reply(Ticket { client, id }, reply) => {
                if self.model.is_connected(client) {
                    self.model.receive(client, ToController { id, reply: *reply });
                }
            }
        }
    }

    fn perform(&mut self, output: Output) {
        match output {
            Output::Send(client, message) => self.model.receive(client, *message),
            Output::Reply(tickets, reply) => {
                for Ticket { client, id } in tickets {
                    let reply = (*reply).clone();
                    self.model.receive(client, ToController { id, reply });
                }
            }
            Output::Close(client) => {
                let uid = self.model.clients[&client];
                self.model.closing.insert(client, uid);
                self.model.disconnected(client);
            }
            Output::Disconnect(client) => self.model.disconnected(client),
            Output::Open(id, request) => self.opens(id, *request),
            Output::Begin(id) => self.threads.begin(id),
            Output::Pause(id) => self.threads.pause(id, self.now),
            Output::StartAgain(id, ticket, _, categories) => {
                let result = self.threads.start_again(id, self.now);
                self.on(Input::StartedAgain(id, ticket, result.map(|()| categories)));
            }
            Output::Stop(id) => self.threads.stop(id, false, self.now),
            Output::Discard(id) => self.threads.stop(id, true, self.now),
            Output::Flush(id) => self.threads.flush(id, self.now),
            Output::Snapshot(id, ticket, job) => {
                self.threads.assert_open(id);
                self.jobs.push(Job::Snapshot(job.peer.uid, ticket));
            }
            Output::Follow(id, ticket, job) => {
                self.threads.assert_open(id);
                self.streams.push(job.lease);
                self.jobs.push(Job::Reply(ticket, Box::new(Reply::Following)));
            }
            Output::SetCategories(id, ticket, categories) => {
                self.threads.set_categories(id, &categories, self.now);
                self.on(Input::CategoriesSet(id, ticket, Ok(categories)));
            }
            Output::Query(ticket, query) => {
                self.model.check_query(ticket.client, &query);
                self.jobs.push(Job::Reply(ticket, Box::new(Reply::Providers(Vec::new()))));
            }
            Output::QueryCategories(user) => self.jobs.push(Job::Categories(user)),
        }
    }

    /// The thread of a session begins.
    fn opens(&mut self, id: SessionId, request: OpenRequest) {
        let session = self.model.sessions.get_mut(&id).expect("it is not removed");
        assert_eq!((session.state, request.caller.peer.uid), (S::Starting, session.uid));
        assert_eq!(request.caller.programs_of(), session.programs, "the programs of {id}");
        if session.detached {
            session.owner = None;
        }
        self.threads.begin_open(id, request);
    }

    /// Ends all: what waits gets its reply, and the machine ends with its last session.
    fn end(&mut self) {
        while !self.jobs.is_empty() {
            self.work(&mut Choices::Bytes(&[]));
        }
        self.shut_down();
        for _ in 0..8 {
            for id in Vec::from_iter(self.threads.open_or_opening()) {
                self.open(id, true);
            }
            self.threads.programs.settle(self.now);
            self.pass(Duration::from_secs(5));
            self.threads.take_changes();
            for id in Vec::from_iter(self.threads.open_or_opening()) {
                while let Some(event) = self.threads.next_event(id) {
                    self.forward(id, event);
                }
            }
            self.model.check(&self.limits);
        }
        assert_eq!(self.threads.open_or_opening().count(), 0, "all sessions end");
        assert!(self.machine.has_ended() && self.model.waits.is_empty(), "{:?}", self.model.waits);
    }
}

/// The results of a session: with its number, or without an archive.
fn summary(id: SessionId, is_discarded: bool) -> Summary {
    let bytes = if is_discarded { 0 } else { id };
    Summary { bytes, ..Summary::default() }
}
