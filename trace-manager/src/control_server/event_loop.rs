//! The control thread.

mod queries;
mod restore;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use rustix::event::epoll::{self, EventData, EventFlags, EventVec};
use rustix::process::{getegid, geteuid};
use trace_protocol::control::{ControlError, GeneralError, Reply, Summary, ToController, EVENT};
use trace_protocol::socket::{Listener, PeerCredentials, Socket};

use super::caller::Caller;
use super::client::{Client, Ended};
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

/// Connections that are accepted in one turn.
const ACCEPTS_PER_TURN: usize = 16;

/// Messages of other threads that are handled in one turn.
const MESSAGES_PER_TURN: usize = 256;

/// The pause of accepting connections after the file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The time in which a controller reads why its connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

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
        let shortest = [deadline, accept, closing, closers].into_iter().flatten().min();
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

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            match self.listener.accept() {
                Ok(socket) => drop(self.connect(socket)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return self.pause_accepting(),
            }
        }
    }

    /// Stops accepting for a while. Without a free file descriptor, epoll would report the listener
    /// again and again.
    fn pause_accepting(&mut self) {
        let _ = epoll::delete(&self.epoll, &self.listener);
        self.accept_resumes_at = Some(Instant::now() + ACCEPT_PAUSE);
    }

    fn resume_accepting(&mut self) {
        let data = EventData::new_u64(LISTENER);
        let added = epoll::add(&self.epoll, &self.listener, data, EventFlags::IN);
        self.accept_resumes_at = added.err().map(|_| Instant::now() + ACCEPT_PAUSE);
    }

    /// Adds a connection. One that cannot be watched is closed.
    fn connect(&mut self, socket: Socket) -> Option<ClientId> {
        let closers = &mut self.closers;
        // A user without connections needs none, unless descriptors wait.
        closers.retain(|_, closer| closer.is_used());
        let client = Client::new(socket, |uid| closers.entry(uid).or_default().clone()).ok()?;
        let id = self.next_client;
        epoll::add(&self.epoll, client.as_fd(), EventData::new_u64(id), EventFlags::IN).ok()?;
        self.next_client += 1;
        let (peer, is_member) = (client.peer, client.is_member(self.listener.path()));
        self.clients.insert(id, client);
        let all_users = peer.uid == 0 || is_member;
        self.dispatch(Input::Connected(id, Caller { peer, all_users }));
        Some(id)
    }

    fn receive(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.closes_at.is_some() {
            // Only the end of the connection is reported for it.
            return self.disconnect(id);
        }
        match client.receive(&mut self.scratch) {
            Ok(requests) => {
                for (message, descriptor) in requests {
                    self.dispatch(Input::Request(id, Box::new(message), descriptor));
                }
            }
            Err(Ended::Closed) => self.disconnect(id),
            Err(Ended::Violation(reason)) => {
                log::warn!("the controller {} is disconnected: {reason}", client.peer.pid);
                let reply = Reply::Closing(reason.to_owned());
                self.send(id, &ToController { id: EVENT, reply });
                self.disconnect(id);
            }
        }
    }

    /// Ends a connection.
    fn disconnect(&mut self, id: ClientId) {
        if let Some(client) = self.clients.remove(&id) {
            // Another handle of the socket is closed later.
            let _ = epoll::delete(&self.epoll, client.as_fd());
            drop(client);
            self.dispatch(Input::Disconnected(id));
        }
    }

    fn take_messages(&mut self) {
        self.shared.waker.clear();
        for _ in 0..MESSAGES_PER_TURN {
            let Ok(message) = self.messages.try_recv() else { return };
            match message {
                Message::Opened(id, running) => {
                    log::info!("session {} writes {}", running.handle.number(), running.output);
                    self.sessions.insert(id, *running);
                    self.dispatch(Input::Session(id, SessionEvent::Opened));
                }
                Message::Session(id, event) => {
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
                    self.dispatch(Input::KnownCategories(user, reply));
                }
                Message::Counted(ticket, query, counts) => {
                    self.counted(counts);
                    self.reply_counted(ticket, query);
                }
                Message::Connect(socket) => {
                    if let Some(id) = self.connect(socket) {
                        self.dispatch(Input::IsOwn(id));
                    }
                }
                Message::Groups(groups) => self.dispatch(Input::Groups(groups)),
                Message::ShutDown => self.dispatch(Input::ShutDown),
            }
        }
        // Connections come between.
        self.shared.waker.wake();
    }

    fn session_ended(&mut self, id: SessionId, summary: &Summary) {
        let Some(Running { handle, output, .. }) = self.sessions.remove(&id) else { return };
        let (number, bytes) = (handle.number(), summary.bytes);
        match &summary.failure {
            None => log::info!("session {number} has ended: {bytes} bytes in {output}"),
            Some(failure) => log::error!("session {number} has failed: {}", failure.reason),
        }
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
                self.dispatch(Input::StartedAgain(id, ticket, result));
            }
            Output::Stop(id) => self.sessions.get(&id).into_iter().for_each(Running::stop),
            Output::Discard(id) => self.sessions.get(&id).into_iter().for_each(Running::discard),
            Output::Flush(id) => handle(id).into_iter().for_each(|it| it.flush()),
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
                self.dispatch(Input::CategoriesSet(id, ticket, result));
            }
            Output::Query(ticket, query) => self.query(ticket, query),
            Output::QueryCategories(user) => self.query_categories(user),
        }
    }

    fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.send(ticket.client, &ToController { id: ticket.id, reply });
    }

    /// Sends a message. A controller that does not read is disconnected.
    fn send(&mut self, id: ClientId, message: &ToController) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let (uid, unread) = (client.peer.uid, client.queue(message));
        if unread > self.limits.unread {
            return self.disconnect_unread(id);
        }
        self.flush(id);
        self.limit_unread(uid);
    }

    /// Disconnects the controller that has read the least if too many bytes wait for those of its
    /// user.
    fn limit_unread(&mut self, uid: u32) {
        let of_user = self.clients.iter().filter(|(_, client)| client.peer.uid == uid);
        let unread = of_user.map(|(id, client)| (client.unsent_bytes(), *id));
        let (sum, most) = unread.fold((0, (0, 0)), |(sum, most), it| (sum + it.0, most.max(it)));
        if sum > self.limits.unread_of_user {
            self.disconnect_unread(most.1);
        }
    }

    fn disconnect_unread(&mut self, id: ClientId) {
        let pid = self.clients.get(&id).map_or(0, |client| client.peer.pid);
        log::warn!("the controller {pid} is disconnected: it does not read");
        self.disconnect(id);
    }

    fn flush(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let flushed = client.flush();
        let writable = match flushed {
            Ok(true) if client.closes_at.is_some() => return self.disconnect(id),
            Ok(true) => EventFlags::empty(),
            Ok(false) => EventFlags::OUT,
            Err(_) => return self.disconnect(id),
        };
        let readable = match client.closes_at {
            None => EventFlags::IN,
            Some(_) => EventFlags::empty(),
        };
        let data = EventData::new_u64(id);
        // Fails only if the socket is not watched, and it is.
        let _ = epoll::modify(&self.epoll, client.as_fd(), data, readable | writable);
    }

    /// Closes a connection after its messages are sent. Its requests are not read any more.
    fn close(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.close(Instant::now() + CLOSE_TIMEOUT);
            self.flush(id);
        }
    }

    /// Ends the connections of controllers that did not read the last messages in time.
    fn disconnect_closing(&mut self) {
        let now = Instant::now();
        let is_over = |client: &Client| client.closes_at.is_some_and(|at| at <= now);
        let clients = self.clients.iter().filter(|(_, client)| is_over(client));
        let over: Vec<ClientId> = clients.map(|(id, _)| *id).collect();
        over.into_iter().for_each(|id| self.disconnect(id));
    }
}

fn failed(error: &dyn std::error::Error) -> Reply {
    Reply::Failed(ControlError::general(GeneralError::Failed, error.to_string()))
}

fn no_session() -> ControlError {
    ControlError::general(GeneralError::NoSession, "the session does not record")
}
