//! Connections of controllers with any bytes: the real connections and the real machine.
//!
//! The threads of sessions are replaced by choices of their events.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use trace_protocol::control::{
    ControlError, GeneralError, Parts, Reply, ToController, ToDaemon, EVENT,
};
use trace_protocol::message::Decoder;
use trace_protocol::socket::Socket;

use super::caller::Caller;
use super::client::Client;
use super::limits::ControlLimits;
use super::machine::{
    choose_request, ClientId, ControlMachine, Input, Output, SessionEvent, SessionId, Ticket,
};
use crate::choices::Choices;
use crate::foreign::Closer;
use crate::machine::Time;
use crate::sink::StreamLease;

/// The most connections of an input.
const MOST: usize = 4;

/// Bytes that are read at a time.
const SCRATCH: usize = 16 << 10;

/// Runs an input.
///
/// # Panics
///
/// If a reply is not that of one request, is lost, or cannot be decoded.
pub(crate) fn run(choices: &mut Choices<'_>) {
    let mut stage = Stage::new();
    while !choices.is_empty() {
        stage.step(choices);
    }
    stage.end();
}

/// A controller, and its connection as the control thread has it.
struct Peer {
    socket: Socket,
    /// `None` once the control thread has ended it.
    client: Option<Client>,
    decoder: Decoder<ToController>,
    parts: Parts,
    /// The number of requests of each number without a reply.
    waiting: BTreeMap<u32, u32>,
}

struct Stage {
    machine: ControlMachine,
    limits: ControlLimits,
    now: Time,
    closer: Closer,
    peers: BTreeMap<ClientId, Peer>,
    last: ClientId,
    /// Sessions whose threads run, and whether they are open.
    sessions: BTreeMap<SessionId, bool>,
    /// Requests to which another thread replies.
    jobs: Vec<(Ticket, Option<u32>)>,
    queries: Vec<Option<u32>>,
    streams: Vec<Arc<StreamLease>>,
    scratch: Vec<u8>,
}

impl Stage {
    fn new() -> Self {
        let limits = ControlLimits { sessions: 3, requests: 60, ..ControlLimits::default() };
        let groups = [("web".to_owned(), vec!["http*".to_owned()])];
        Self {
            machine: ControlMachine::new(groups.into(), limits),
            limits,
            now: Time::ZERO,
            closer: Closer::default(),
            peers: BTreeMap::new(),
            last: 1,
            sessions: BTreeMap::new(),
            jobs: Vec::new(),
            queries: Vec::new(),
            streams: Vec::new(),
            scratch: vec![0; SCRATCH],
        }
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        if self.peers.is_empty() || self.peers.len() < MOST && choices.one_in(16) {
            self.connect(choices);
        }
        let Some(id) = choices.of_any(self.peers.keys().copied()) else { return };
        match choices.below(16) {
            0..=6 => self.request(id, choices),
            7..=8 => self.send(id, &bytes(choices), false),
            9..=12 => self.session(choices),
            13 => self.work(),
            14 => self.now += std::time::Duration::from_millis(u64::from(choices.byte()) * 20),
            _ if choices.one_in(4) => self.leave(id),
            _ => {}
        }
        self.receive(id);
        self.tick();
        self.read();
    }

    fn connect(&mut self, choices: &mut Choices<'_>) {
        let (ours, theirs) = UnixStream::pair().expect("descriptors are left");
        let closer = self.closer.clone();
        let mut client = Client::new(OwnedFd::from(ours).into(), |_| closer).expect("it is open");
        client.peer.uid = choices.of(&[0, 1000, 1001]);
        let socket = Socket::from(OwnedFd::from(theirs));
        socket.set_nonblocking(true);
        self.last += 1;
        let caller = Caller { peer: client.peer, all_users: client.peer.uid == 0 };
        let input = Input::Connected(self.last, caller);
        let (client, decoder) = (Some(client), Decoder::new());
        let (parts, waiting) = Default::default();
        self.peers.insert(self.last, Peer { socket, client, decoder, parts, waiting });
        self.on(input);
    }

    /// Sends a request, perhaps with wrong bytes, in two parts, or with descriptors.
    fn request(&mut self, id: ClientId, choices: &mut Choices<'_>) {
        let request = choose_request(choices, None);
        let has_descriptor = request.descriptors() > 0 && !choices.one_in(8);
        let number = u32::from(choices.byte()) + 1;
        let mut bytes = ToDaemon { id: number, request }.encode();
        if choices.one_in(4) {
            let index = usize::from(choices.byte()) % bytes.len();
            bytes[index] ^= choices.byte();
        }
        let cut = match choices.one_in(4) {
            true => usize::from(choices.byte()) % bytes.len(),
            false => bytes.len(),
        };
        let (first, rest) = bytes.split_at(cut);
        self.send(id, first, has_descriptor);
        if !rest.is_empty() && !choices.one_in(8) {
            self.receive(id);
            self.send(id, rest, false);
        }
    }

    fn send(&mut self, id: ClientId, bytes: &[u8], has_descriptor: bool) {
        let Some(peer) = self.peers.get(&id).filter(|_| !bytes.is_empty()) else { return };
        let null = has_descriptor.then(|| File::open("/dev/null").expect("every system has it"));
        let descriptors = Vec::from_iter(null.iter().map(AsFd::as_fd));
        // Fails if the connection has ended.
        let _ = peer.socket.send(bytes, &descriptors);
    }

    /// The control thread reads from a connection until there are no further requests.
    fn receive(&mut self, id: ClientId) {
        loop {
            let Some(peer) = self.peers.get_mut(&id) else { return };
            let Some(client) = &mut peer.client else { return };
            let Ok(requests) = client.receive(&mut self.scratch) else {
                return self.disconnect(id);
            };
            let has_more = client.has_more;
            for (message, descriptor) in requests {
                if let Some(peer) = self.peers.get_mut(&id) {
                    *peer.waiting.entry(message.id).or_default() += 1;
                }
                self.on(Input::Request(id, Box::new(message), descriptor));
            }
            if !has_more {
                return;
            }
        }
    }

    /// The control thread ends a connection.
    fn disconnect(&mut self, id: ClientId) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.client = None;
            self.on(Input::Disconnected(id));
        }
    }

    /// A controller ends its connection.
    fn leave(&mut self, id: ClientId) {
        self.disconnect(id);
        self.peers.remove(&id);
    }

    fn tick(&mut self) {
        if self.machine.deadline().is_some_and(|at| at <= self.now) {
            self.on(Input::Tick);
        }
    }

    /// Something happens in the thread of a session.
    fn session(&mut self, choices: &mut Choices<'_>) {
        let Some(id) = choices.of_any(self.sessions.keys().copied()) else { return };
        let event = match (self.sessions[&id], choices.below(8)) {
            (false, 0) => {
                self.sessions.remove(&id);
                SessionEvent::NotOpened(ControlError::general(GeneralError::Output, "full"))
            }
            (false, _) => {
                self.sessions.insert(id, true);
                SessionEvent::Opened
            }
            (true, 0..=2) => SessionEvent::Recording,
            (true, 3..=4) => SessionEvent::Paused,
            (true, 5) => SessionEvent::Stopping,
            (true, _) => return self.end_session(id),
        };
        self.on(Input::Session(id, event));
    }

    fn end_session(&mut self, id: SessionId) {
        self.sessions.remove(&id);
        self.on(Input::Session(id, SessionEvent::Ended(Box::default())));
    }

    /// Other threads do their work.
    fn work(&mut self) {
        for (ticket, user) in std::mem::take(&mut self.jobs) {
            match user {
                Some(uid) => self.on(Input::SnapshotWritten(uid, ticket, Ok(1))),
                None => self.reply(ticket, Reply::Sessions(Vec::new())),
            }
        }
        for user in std::mem::take(&mut self.queries) {
            self.on(Input::KnownCategories(user, Box::new(Reply::KnownCategories(Vec::new()))));
        }
        self.streams.clear();
    }

    fn on(&mut self, input: Input) {
        for output in self.machine.on(input, self.now) {
            self.perform(output);
        }
    }

    fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.queue(ticket.client, &ToController { id: ticket.id, reply });
    }

    /// Sends a message. A controller that does not read is disconnected.
    fn queue(&mut self, id: ClientId, message: &ToController) {
        let Some(client) = self.peers.get_mut(&id).and_then(|it| it.client.as_mut()) else {
            return;
        };
        let is_full = client.queue(message) > self.limits.unread;
        let closes = client.closes_at.is_some();
        let flushed = client.flush();
        if is_full || flushed.is_err() || closes && flushed == Ok(true) {
            self.disconnect(id);
        }
    }

    fn perform(&mut self, output: Output) {
        match output {
            Output::Send(id, message) => self.queue(id, &message),
            Output::Reply(tickets, reply) => {
                tickets.into_iter().for_each(|ticket| self.reply(ticket, (*reply).clone()));
            }
            Output::Close(id) => {
                let client = self.peers.get_mut(&id).and_then(|it| it.client.as_mut());
                client.into_iter().for_each(|it| it.close(std::time::Instant::now()));
                self.disconnect(id);
            }
            Output::Disconnect(id) => self.disconnect(id),
            Output::Open(id, _) => drop(self.sessions.insert(id, false)),
            Output::StartAgain(id, ticket, _, categories) => {
                self.on(Input::StartedAgain(id, ticket, Ok(categories)));
            }
            Output::SetCategories(id, ticket, categories) => {
                self.on(Input::CategoriesSet(id, ticket, Ok(categories)));
            }
            Output::Snapshot(_, ticket, job) => self.jobs.push((ticket, Some(job.peer.uid))),
            Output::Follow(_, ticket, job) => {
                self.streams.push(job.lease);
                self.jobs.push((ticket, None));
            }
            Output::Query(ticket, _) => self.jobs.push((ticket, None)),
            Output::QueryCategories(user) => self.queries.push(user),
            Output::Begin(_)
            | Output::Pause(_)
            | Output::Stop(_)
            | Output::Discard(_)
            | Output::Flush(_) => {}
        }
    }

    /// The controllers read. Each reply is that of a request without one.
    fn read(&mut self) {
        for peer in self.peers.values_mut() {
            peer.read(&mut self.scratch);
        }
    }

    /// Ends all sessions: each request of an open connection has had its reply.
    fn end(&mut self) {
        for id in Vec::from_iter(self.peers.keys().copied()) {
            self.receive(id);
        }
        self.work();
        while let Some(id) = self.sessions.keys().next().copied() {
            self.on(Input::Session(id, SessionEvent::Opened));
            self.on(Input::Session(id, SessionEvent::Recording));
            self.on(Input::Session(id, SessionEvent::Paused));
            self.end_session(id);
        }
        self.read();
        for peer in self.peers.values().filter(|it| it.client.is_some()) {
            let lost = peer.waiting.iter().find(|it| *it.0 != EVENT && *it.1 != 0);
            assert_eq!(lost, None, "a request has no reply");
        }
    }
}

impl Peer {
    fn read(&mut self, scratch: &mut [u8]) {
        while let Ok(length @ 1..) = self.socket.recv(scratch) {
            self.decoder.feed(&scratch[..length]);
        }
        while let Some(message) = self.decoder.next_message() {
            let message = message.expect("the daemon keeps to the protocol");
            let Ok(Some(ToController { id, reply })) = self.parts.join(message) else { continue };
            if id != EVENT {
                let waiting = self.waiting.get_mut(&id).filter(|it| **it > 0);
                *waiting.unwrap_or_else(|| panic!("nobody waits for {id}: {reply:?}")) -= 1;
            }
        }
    }
}

/// Returns up to 64 bytes.
fn bytes(choices: &mut Choices<'_>) -> Vec<u8> {
    (0..choices.below(65)).map(|_| choices.byte()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choices of many seeds. Those of a fuzzer find more: `fuzz/fuzz_targets/connections.rs`.
    #[test]
    fn connections_with_any_bytes_get_one_reply_a_request() {
        (0..2_000).for_each(|seed| run(&mut Choices::Seed(seed, 400)));
    }
}
