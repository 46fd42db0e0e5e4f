//! A connection to a manager, from the registration to its end.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

use trace_format::layout::cut_str;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::message::{Decoder, Initialize, ToManager, ToProvider};
use trace_protocol::socket::Socket;

use crate::engine::wake::Listener;
use crate::not_traced::NotTraced;
use crate::service::backoff::Outcome;
use crate::service::received::{check_patterns, map_buffer, packet_socket, Closed, DESCRIPTORS};
use crate::service::registration::register;
use crate::service::session::ManagerSession;
use crate::service::wait::{Found, Preferred};
use crate::service::Service;
use crate::sys;

/// The most unknown messages of a connection.
const MOST_UNKNOWN: u32 = 16;

/// The most bytes of a refusal's reason.
const MOST_REASON: usize = 200;

/// The most reads of the socket in a turn.
const READS_AT_ONCE: usize = 16;

/// A connection to a manager.
pub(crate) struct Link<'a> {
    service: &'a Service,
    listener: &'a Listener,
    socket: Socket,
    preferred: Option<Preferred>,
    /// The connection to a manager that comes first.
    next: Option<Socket>,
    decoder: Decoder<ToProvider>,
    /// Descriptors that came with bytes of an incomplete message.
    descriptors: Vec<OwnedFd>,
    session: Option<ManagerSession<'a>>,
    /// A session has begun.
    served: bool,
    /// The number of unknown messages.
    unknown: u32,
    /// The manager has refused this provider.
    refused: bool,
}

impl<'a> Link<'a> {
    pub(crate) fn new(service: &'a Service, listener: &'a Listener, found: Found) -> Self {
        let Found { socket, preferred } = found;
        Self {
            service,
            listener,
            socket,
            preferred,
            next: None,
            decoder: Decoder::new(),
            descriptors: Vec::new(),
            session: None,
            served: false,
            unknown: 0,
            refused: false,
        }
    }

    /// Serves the connection until the manager closes it, the provider must end, or a manager that
    /// comes first has appeared.
    pub(crate) fn serve(mut self) -> Outcome {
        if let Err(Closed(Some(problem))) = self.serve_until_closed() {
            let socket = self.service.config.socket.clone();
            self.service.report(NotTraced::Manager { socket, problem });
        }
        self.end_session();
        match (self.next, self.served, self.refused) {
            (Some(socket), ..) => Outcome::Moved(socket),
            (None, _, true) => Outcome::Refused,
            (None, true, false) => Outcome::Served,
            (None, false, false) => Outcome::NoSession,
        }
    }

    fn serve_until_closed(&mut self) -> Result<(), Closed> {
        self.socket.set_nonblocking(true);
        self.listener.watch(self.socket.as_fd()).map_err(|_| Closed::BY_MANAGER)?;
        for message in register(self.service) {
            self.send(&message)?;
        }
        while !self.service.is_quitting() && !self.moves() {
            if !self.turn()? {
                self.service.wait(self.session.as_ref().and_then(ManagerSession::pause));
            }
        }
        Ok(())
    }

    /// Returns whether the provider leaves this manager for one that comes first. It does so
    /// between sessions.
    fn moves(&mut self) -> bool {
        if let (None, Some(preferred)) = (&self.session, &mut self.preferred) {
            self.next = preferred.connect(self.service);
        }
        self.next.is_some()
    }

    /// Handles messages and does the work of the session. Returns whether there is more.
    fn turn(&mut self) -> Result<bool, Closed> {
        let more = self.receive_messages()?;
        match self.session.as_mut() {
            Some(session) => Ok(session.work()? || more),
            None => Ok(more),
        }
    }

    /// Sends a message. Fails if the manager does not read for a second.
    fn send(&self, message: &ToManager) -> Result<(), Closed> {
        let bytes = message.encode();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match self.socket.send(rest, &[]) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or(&[]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    sys::wait_until_writable(self.socket.as_fd())
                        .map_err(|_| Closed::BY_MANAGER)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Closed::BY_MANAGER),
            }
        }
        Ok(())
    }

    /// Reads and handles messages of the manager. Returns whether there may be more.
    fn receive_messages(&mut self) -> Result<bool, Closed> {
        let mut buffer = [0; 4096];
        for _ in 0..READS_AT_ONCE {
            match self.socket.recv_with_fds(&mut buffer, &mut self.descriptors) {
                Ok(0) => return Err(Closed::BY_MANAGER),
                Ok(received) => self.decode(buffer.get(..received).unwrap_or(&[]))?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(_) => return Err(Closed::BY_MANAGER),
            }
        }
        Ok(true)
    }

    fn decode(&mut self, untrusted: &[u8]) -> Result<(), Closed> {
        self.decoder.feed(untrusted);
        while let Some(message) = self.decoder.next_message() {
            match message {
                Ok(message) => self.handle(message)?,
                Err(error) if error.is_fatal() => {
                    return Err(Closed::because("a message is too long"))
                }
                // A later version of the manager may have more messages.
                Err(_) if self.unknown < MOST_UNKNOWN => self.unknown += 1,
                Err(_) => return Err(Closed::because("it sends unknown messages")),
            }
        }
        if !self.decoder.is_inside_message() {
            self.descriptors.clear();
        }
        match self.descriptors.len() {
            0..=DESCRIPTORS => Ok(()),
            _ => Err(Closed::because("it sends descriptors that belong to no message")),
        }
    }

    fn handle(&mut self, message: ToProvider) -> Result<(), Closed> {
        match message {
            ToProvider::Registered { started: false } => drop(self.service.settle()),
            ToProvider::Registered { started: true } => {}
            ToProvider::Refused { reason } => {
                self.refused = true;
                let reason = cut_str(&reason, MOST_REASON).to_owned();
                let socket = self.service.config.socket.clone();
                self.service.report(NotTraced::Refused { socket, reason });
                self.service.settle();
            }
            ToProvider::Initialize(initialize) => self.initialize(initialize)?,
            ToProvider::Start(options) => {
                if let Some(session) = self.session.as_mut() {
                    session.start(&options, self.service.config.category_set())?;
                }
                let late = self.service.settle().unwrap_or_default();
                if let Some(session) = self.session.as_mut() {
                    let millis = late.as_nanos().div_ceil(1_000_000) as u64;
                    session.active.report_omission(Omission::Beginning, millis);
                }
            }
            ToProvider::SetCategories { sequence, categories } => {
                if let Some(session) = self.session.as_mut() {
                    let own = self.service.config.category_set();
                    session.set_categories(sequence, categories, own)?;
                }
            }
            ToProvider::SetConditions(limits) => {
                if let Some(session) = self.session.as_mut() {
                    session.set_conditions(&limits)?;
                }
            }
            ToProvider::Stream => {
                if let Some(session) = self.session.as_mut() {
                    session.stream();
                }
            }
            ToProvider::Stop => {
                if let Some(session) = self.session.as_mut() {
                    session.stop()?;
                }
            }
            ToProvider::Terminate => self.end_session(),
            ToProvider::GetKnownCategories => {
                self.send(&ToManager::KnownCategories(self.service.client.categories()))?;
            }
            ToProvider::Flush => {
                if let Some(session) = &self.session {
                    // If the next rolling buffer is not free, the records follow with the others.
                    let _handed_over = session.active.flush();
                }
            }
        }
        Ok(())
    }

    fn initialize(&mut self, initialize: Initialize) -> Result<(), Closed> {
        // Descriptors of the next message may have come with the end of this one.
        let own = DESCRIPTORS.min(self.descriptors.len());
        let mut descriptors = self.descriptors.drain(..own);
        let (Some(memory), Some(packets)) = (descriptors.next(), descriptors.next()) else {
            return Err(Closed::because("its buffer or its packet socket is missing"));
        };
        drop(descriptors);
        if self.session.is_some() {
            // A provider has one session at a time, and ignores others.
            return Ok(());
        }
        check_patterns(&initialize.categories)?;
        let packets = packet_socket(packets)?;
        let (mapping, layout) = map_buffer(memory, initialize.mode)?;
        packets.set_nonblocking(true);
        self.listener.watch(packets.as_fd()).map_err(|_| Closed::BY_MANAGER)?;
        self.served = true;
        self.refused = false;
        self.service.report_acceptance();
        let (engine, client) = (self.service.engine, &*self.service.client);
        let active = self.service.record_into(mapping, layout);
        let active = active.ok_or(Closed::because("this process records already"))?;
        self.session =
            Some(ManagerSession::new(engine, client, active, packets, initialize.categories));
        Ok(())
    }

    fn end_session(&mut self) {
        if let Some(session) = self.session.take() {
            self.listener.forget(session.packets.as_fd());
            session.end(self.service.config.about_machine);
        }
    }
}
