//! The control thread.

mod connections;
mod queries;
mod recent;
mod restore;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::process;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use log::Level;
use rustix::event::epoll::{self, EventData, EventFlags, EventVec};
use rustix::process::{getegid, geteuid};
use trace_protocol::control::{ControlError, GeneralError, Reply, Summary, ToController, EVENT};
use trace_protocol::socket::{Listener, PeerCredentials};

use self::recent::{RecentReplies, Subject};
use super::caller::Caller;
use super::client::Client;
use super::client_log::ClientLog;
use super::event_queue::EventQueue;
use super::kept::KeptFolder;
use super::limits::ControlLimits;
use super::machine::{
    ClientId, ControlMachine, Input, Output, SessionEvent, SessionId, Ticket, SERVED,
};
use super::outputs::Outputs;
use super::running::{Running, Served};
use super::served::ServedSession;
use super::shared::{Message, Shared};
use super::triggers::AllCommands;
use super::{follow, recorder, snapshot, ControlSettings};
use crate::foreign::{self, Closer};
use crate::machine::Time;
use crate::manager::Manager;
use crate::wait::milliseconds;
use crate::waker::Waker;

/// Bytes of one connection that are read in one turn.
const SCRATCH: usize = 64 << 10;

/// Messages of other threads that are handled in one turn.
const MESSAGES_PER_TURN: usize = 256;

const LISTENER: u64 = 0;
const WAKER: u64 = 1;
/// The first number of a connection.
const FIRST_CLIENT: ClientId = 2;

/// The control thread.
pub(super) struct ControlLoop {
    epoll: OwnedFd,
    listener: Listener,
    messages: Receiver<Message>,
    shared: Arc<Shared>,
    machine: ControlMachine,
    limits: ControlLimits,
    clients: BTreeMap<ClientId, Client>,
    sessions: BTreeMap<SessionId, Running>,
    /// What closes the descriptors of each user.
    closers: BTreeMap<u32, Closer>,
    next_client: ClientId,
    origin: Instant,
    /// The end of a pause of accepting connections.
    accept_resumes_at: Option<Instant>,
    scratch: Vec<u8>,
    /// Whether a thread counts the events of sessions.
    is_counting: bool,
    recent: RecentReplies,
}

impl ControlLoop {
    pub(super) fn new(
        listener: Listener,
        manager: Arc<Manager>,
        settings: ControlSettings,
        (sender, messages): (Sender<Message>, Receiver<Message>),
        waker: Waker,
    ) -> io::Result<Self> {
        let ControlSettings { groups, limits, scratch, guard, sessions, companions } = settings;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &waker, EventData::new_u64(WAKER), EventFlags::IN)?;
        let shared = Shared {
            manager,
            scratch,
            limits,
            start_guard: guard,
            kept: sessions.map(KeptFolder::new),
            companions,
            commands: AllCommands::default(),
            client_log: ClientLog::default(),
            outputs: Outputs::default(),
            messages: sender,
            waker,
        };
        Ok(Self {
            epoll,
            listener,
            messages,
            shared: Arc::new(shared),
            machine: ControlMachine::new(groups, limits),
            limits,
            clients: BTreeMap::new(),
            sessions: BTreeMap::new(),
            closers: BTreeMap::new(),
            next_client: FIRST_CLIENT,
            origin: Instant::now(),
            accept_resumes_at: None,
            scratch: vec![0; SCRATCH],
            is_counting: false,
            recent: RecentReplies::default(),
        })
    }

    /// Adds the session that this process has started. Called before [`run`](Self::run). Returns
    /// its queue of events.
    pub(super) fn serve(&mut self, session: ServedSession) -> Arc<EventQueue> {
        let ServedSession { config, handle, output, fixed_categories, no_pause, on_stop } = session;
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        let peer = PeerCredentials { pid: process::id(), uid, gid };
        let owner = Caller { peer, all_users: peer.uid == 0 };
        let queue = Arc::<EventQueue>::default();
        self.machine.serve(owner, config, Arc::clone(&queue), no_pause);
        let served = Some(Served { on_stop });
        let running = Running { served, fixed_categories, ..Running::new(handle, output) };
        self.sessions.insert(SERVED, running);
        queue
    }

    /// Runs until [`Message::ShutDown`], and then until all sessions and their commands have ended.
    pub(super) fn run(mut self) {
        self.restore();
        let mut events = EventVec::with_capacity(64);
        while !self.machine.has_ended() {
            let unfinished = self.unfinished();
            match epoll::wait(&self.epoll, &mut events, self.timeout()) {
                Ok(()) | Err(rustix::io::Errno::INTR) => {}
                // Fails only for wrong arguments.
                Err(_) => return,
            }
            for event in &events {
                self.handle(event.data.u64(), event.flags);
            }
            unfinished.into_iter().for_each(|id| self.receive(id));
            if self.machine.deadline().is_some_and(|at| at <= self.now()) {
                self.dispatch(Input::Tick);
            }
            if self.accept_resumes_at.is_some_and(|at| at <= Instant::now()) {
                self.resume_accepting();
            }
            self.disconnect_closing();
            self.shared.client_log.report_omitted(Instant::now());
        }
        // The last replies; nobody waits for those that do not fit.
        for client in self.clients.values_mut() {
            let _sent = client.flush();
        }
        self.shared.commands.end();
    }

    /// Returns the connections with requests that were left in the turn before.
    fn unfinished(&self) -> Vec<ClientId> {
        let clients = self.clients.iter().filter(|(_, client)| client.has_more);
        clients.map(|(id, _)| *id).collect()
    }

    fn now(&self) -> Time {
        self.origin.elapsed()
    }

    /// Returns the time to wait for events, in milliseconds for epoll_wait(2).
    fn timeout(&self) -> i32 {
        let deadline = self.machine.deadline().map(|at| at.saturating_sub(self.now()));
        let accept = self.accept_resumes_at.map(|at| at.saturating_duration_since(Instant::now()));
        let closing = self.clients.values().filter_map(|client| client.closes_at).min();
        let closing = closing.map(|at| at.saturating_duration_since(Instant::now()));
        if self.clients.values().any(|client| client.has_more) {
            return 0;
        }
        let closers = foreign::retry(self.closers.values());
        let omitted = self.shared.client_log.report_at();
        let omitted = omitted.map(|at| at.saturating_duration_since(Instant::now()));
        let shortest = [deadline, accept, closing, closers, omitted].into_iter().flatten().min();
        milliseconds(shortest)
    }

    fn handle(&mut self, source: u64, flags: EventFlags) {
        match source {
            LISTENER => self.accept(),
            WAKER => self.take_messages(),
            client => {
                if flags.contains(EventFlags::OUT) {
                    self.flush(client);
                }
                let has_more = self.clients.get(&client).is_some_and(|client| client.has_more);
                let readable = EventFlags::IN | EventFlags::HUP | EventFlags::ERR;
                if flags.intersects(readable) && !has_more {
                    self.receive(client);
                }
            }
        }
    }

    fn take_messages(&mut self) {
        self.shared.waker.clear();
        for _ in 0..MESSAGES_PER_TURN {
            let Ok(message) = self.messages.try_recv() else { return };
            match message {
                Message::Opened(id, running) => {
                    let Running { name, output, owner, .. } = &*running;
                    self.shared.log(
                        Level::Info,
                        *owner,
                        format_args!("session {name} writes {output}"),
                    );
                    self.sessions.insert(id, *running);
                    self.dispatch(Input::Session(id, SessionEvent::Opened));
                }
                Message::Session(id, event) => {
                    self.recent.forget(id);
                    if let SessionEvent::Ended(summary) = &event {
                        self.session_ended(id, summary);
                    }
                    self.dispatch(Input::Session(id, event));
                }
                Message::SnapshotWritten(uid, ticket, result) => {
                    self.dispatch(Input::SnapshotWritten(uid, ticket, result));
                }
                Message::Following(ticket, reply) => self.reply(ticket, *reply),
                Message::KnownCategories(user, reply) => {
                    let subject = Subject::KnownCategories(user);
                    self.recent.keep(subject, Instant::now(), &reply);
                    self.dispatch(Input::KnownCategories(user, reply));
                }
                Message::Counted(ticket, query, counts) => {
                    self.counted(counts);
                    self.reply_counted(ticket, query);
                }
                Message::Connect(socket) => self.connect(socket, true),
                Message::Groups(groups) => self.dispatch(Input::Groups(groups)),
                Message::Configuration(configuration) => {
                    self.dispatch(Input::Configuration(geteuid().as_raw(), configuration));
                }
                Message::ShutDown => self.dispatch(Input::ShutDown),
            }
        }
        // Connections come between.
        self.shared.waker.wake();
    }

    fn session_ended(&mut self, id: SessionId, summary: &Summary) {
        let Some(session) = self.sessions.remove(&id) else { return };
        let (level, line) = session.end(summary);
        self.shared.log(level, session.owner, format_args!("{line}"));
    }

    fn dispatch(&mut self, input: Input) {
        for output in self.machine.on(input, self.now()) {
            self.perform(output);
        }
    }

    fn perform(&mut self, output: Output) {
        let handle = |id| self.sessions.get(&id).map(|session: &Running| &session.handle);
        match output {
            Output::Send(id, message) => self.send(id, &message),
            Output::Reply(tickets, reply) => {
                let mut message = ToController { id: EVENT, reply: *reply };
                for Ticket { client, id } in tickets {
                    message.id = id;
                    self.send(client, &message);
                }
            }
            Output::Close(id) => self.close(id),
            Output::Disconnect(id) => self.disconnect(id),
            Output::Open(id, request) => recorder::spawn(&self.shared, id, *request),
            Output::Begin(id) => self.sessions.get(&id).into_iter().for_each(Running::note_begin),
            Output::Pause(id) => handle(id).into_iter().for_each(|it| it.pause()),
            Output::StartAgain(id, ticket, disposition, categories) => {
                let companions = self.shared.companions.as_deref();
                let session = self.sessions.get(&id).ok_or_else(no_session);
                let result = session.and_then(|session| {
                    session
                        .start_again(disposition, categories.clone(), companions)
                        .map(|()| categories)
                });
                self.recent.forget(id);
                self.dispatch(Input::StartedAgain(id, ticket, result));
            }
            Output::Stop(id) => self.sessions.get(&id).into_iter().for_each(Running::stop),
            Output::Discard(id) => {
                self.sessions.get_mut(&id).into_iter().for_each(Running::discard);
            }
            Output::Flush(id) => {
                handle(id).into_iter().for_each(|it| it.flush());
                self.recent.forget(id);
            }
            Output::Snapshot(id, ticket, job) => match handle(id) {
                Some(handle) => snapshot::spawn(&self.shared, Arc::clone(handle), ticket, job),
                None => {
                    let result = Err(no_session());
                    self.dispatch(Input::SnapshotWritten(job.peer.uid, ticket, result));
                }
            },
            Output::Follow(id, ticket, job) => match handle(id) {
                Some(handle) => follow::spawn(&self.shared, Arc::clone(handle), ticket, job),
                None => self.reply(ticket, Reply::Failed(no_session())),
            },
            Output::SetCategories(id, ticket, categories) => {
                let session = self.sessions.get(&id).ok_or_else(no_session);
                let companions = self.shared.companions.as_deref();
                let set = session
                    .and_then(|session| session.set_categories(categories.clone(), companions));
                let result = set.map(|()| categories);
                self.recent.forget(id);
                self.dispatch(Input::CategoriesSet(id, ticket, result));
            }
            Output::Query(ticket, query) => self.query(ticket, query),
            Output::QueryCategories(user) => self.query_categories(user),
        }
    }

    fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.send(ticket.client, &ToController { id: ticket.id, reply });
    }
}

fn failed(error: &dyn std::error::Error) -> Reply {
    Reply::Failed(ControlError::general(GeneralError::Failed, error.to_string()))
}

fn no_session() -> ControlError {
    ControlError::general(GeneralError::NoSession, "the session does not record")
}
