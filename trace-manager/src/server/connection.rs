//! One provider's sockets.

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use trace_format::layout::cut_str;
use trace_protocol::error::ProtocolError;
use trace_protocol::message::{
    CategoryInfo, Decoder, Features, Register, ToManager, MAX_PROVIDER_NAME,
};
use trace_protocol::packet::{Packet, PACKET_SIZE};
use trace_protocol::socket::{PeerCredentials, Socket};

use super::outbox::{Handles, Outbox};
use super::rate::Rate;
use super::retained::RetainedBuffer;
use super::shares::Shares;
use crate::buffers::SharedBuffer;
use crate::foreign::{Closer, ForeignSocket};
use crate::machine::{Registration, SessionNumber, Violation};

/// Packets that are read in one turn.
const PACKETS_PER_TURN: usize = 64;

/// The most packets of a provider in one second. Each save fills a buffer, which takes a few
/// microseconds for 4 KiB, and waits for its reply.
const PACKETS_PER_SECOND: u32 = 200_000;

/// The most unsolicited messages of a connection.
const MAX_UNSOLICITED: u32 = 64;

/// The most messages of a connection that cannot be decoded.
const MAX_UNDECODABLE: u32 = 16;

/// A provider passes no descriptor.
const DESCRIPTORS: Violation = Violation::Unexpected("file descriptors");

/// A connected process, which is a provider once it has registered.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: PeerCredentials,
    pub(crate) accepted: Instant,
    pub(crate) accepted_at: SystemTime,
    /// The messages that it supports; `None` before it has reported them.
    features: Option<Features>,
    pub(crate) register: Option<Register>,
    /// The name of its process, from the kernel.
    kernel_name: OnceCell<String>,
    pub(crate) socket: ForeignSocket,
    /// Closes the descriptors that its user passes.
    pub(crate) closer: Closer,
    /// Whether it is a helper of a session, which does not count among the programs.
    pub(crate) is_helper: bool,
    /// The process, to detect its end.
    pub(crate) process: Option<OwnedFd>,
    pub(crate) packets: Option<ForeignSocket>,
    /// The sessions that await the end of its process, of those that its packets were for.
    pub(crate) end_awaited_by: BTreeSet<SessionNumber>,
    /// The buffer and packet socket that are not sent to the provider yet.
    pub(crate) handles: Option<Handles>,
    /// Its buffer in the session.
    pub(crate) buffer: Option<Arc<SharedBuffer>>,
    /// Memory for the records that its sessions retain when its circular buffer streams.
    pub(super) shares: Shares,
    /// Buffers of earlier sessions that it did not leave in time.
    pub(crate) retained: Vec<RetainedBuffer>,
    pub(crate) outbox: Outbox,
    /// Whether it counts in the quota of providers.
    pub(crate) admitted: bool,
    /// The memory that counts in the quota of messages.
    pub(crate) counted_memory: u64,
    decoder: Decoder<ToManager>,
    /// The categories that it announced last; those of the registration are here, too.
    pub(crate) categories: Arc<[CategoryInfo]>,
    /// Their memory.
    category_memory: usize,
    /// Whether a request for categories has no reply yet.
    requested: bool,
    unsolicited: u32,
    undecodable: u32,
    /// Its packets in a second.
    pub(super) packet_rate: Rate,
}

/// The result of a read from the registration socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Any number of messages.
    Messages {
        /// Whether the registration is among them; see [`Connection::register`].
        registered: bool,
        /// Whether known categories are among them.
        categories: bool,
    },
    /// The provider closed the socket.
    Closed,
}

/// The result of a read from the packet socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReceivedPacket {
    Packet(Packet),
    Nothing,
    Closed,
}

impl Connection {
    /// Creates the state of an accepted connection. Fails if the process that connected has ended:
    /// its pid in the archive would be wrong. `closer` returns that of the descriptors of its user.
    pub(crate) fn new(socket: Socket, closer: impl FnOnce(u32) -> Closer) -> io::Result<Self> {
        socket.set_nonblocking(true);
        let peer = socket.peer_credentials()?;
        let closer = closer(peer.uid);
        let socket = ForeignSocket::stream(socket, closer.clone())?;
        // Without it, another process may have its pid.
        let process = socket.peer_process()?;
        Ok(Self {
            peer,
            accepted: Instant::now(),
            accepted_at: SystemTime::now(),
            process,
            features: None,
            register: None,
            kernel_name: OnceCell::new(),
            socket,
            closer,
            is_helper: false,
            packets: None,
            handles: None,
            buffer: None,
            shares: Shares::new(),
            retained: Vec::new(),
            outbox: Outbox::default(),
            admitted: false,
            counted_memory: 0,
            decoder: Decoder::new(),
            categories: Arc::default(),
            category_memory: 0,
            requested: false,
            unsolicited: 0,
            undecodable: 0,
            end_awaited_by: BTreeSet::new(),
            packet_rate: Rate::new(Instant::now()),
        })
    }

    /// Reads messages once, at most the size of `scratch`.
    pub(crate) fn receive(&mut self, scratch: &mut [u8]) -> Result<Received, Violation> {
        self.check_closer()?;
        let read = match self.socket.receive(scratch) {
            Ok((_, true)) => return Err(DESCRIPTORS),
            Ok((0, false)) => return Ok(Received::Closed),
            Ok((read, false)) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Received::Messages { registered: false, categories: false })
            }
            Err(_) => return Ok(Received::Closed),
        };
        self.decoder.feed(scratch.get(..read).unwrap_or_default());
        let (mut registered, mut categories) = (false, false);
        while let Some(message) = self.decoder.next_message() {
            registered |= matches!(message, Ok(ToManager::Register(_)));
            categories |= matches!(message, Ok(ToManager::KnownCategories(_)));
            self.take(message)?;
        }
        Ok(Received::Messages { registered, categories })
    }

    /// Checks that descriptors can be received: they cannot be closed here.
    fn check_closer(&self) -> Result<(), Violation> {
        match self.closer.is_full() {
            true => Err(Violation::Descriptors),
            false => Ok(()),
        }
    }

    /// Notes that the provider's categories are requested. Returns false if an earlier request has
    /// no reply yet, which is then the reply to this one.
    pub(crate) fn expect_categories(&mut self) -> bool {
        !std::mem::replace(&mut self.requested, true)
    }

    /// Counts a reply with categories. Returns the violation if too many were not requested.
    fn count_categories(&mut self) -> Result<(), Violation> {
        match std::mem::take(&mut self.requested) {
            true => Ok(()),
            false => increment(&mut self.unsolicited, MAX_UNSOLICITED, Violation::Flood),
        }
    }

    fn take(&mut self, message: Result<ToManager, ProtocolError>) -> Result<(), Violation> {
        match message {
            Ok(ToManager::Supports(_)) if self.register.is_some() => {
                Err(Violation::Unexpected("features after the registration"))
            }
            Ok(ToManager::Supports(features)) => match self.features.replace(features) {
                None => Ok(()),
                Some(_) => Err(Violation::Unexpected("features a second time")),
            },
            Ok(ToManager::Register(_)) if self.register.is_some() => {
                Err(Violation::Unexpected("a second registration"))
            }
            Ok(ToManager::Register(mut register)) => {
                // The names do not count in a quota, so they are truncated.
                truncate(&mut register.name);
                truncate(&mut register.process_name);
                self.set_categories(std::mem::take(&mut register.categories));
                self.register = Some(register);
                // Queries would read it each time, also after the end of the process.
                self.process_name();
                Ok(())
            }
            Ok(ToManager::KnownCategories(categories)) => {
                self.count_categories()?;
                if self.register.is_none() {
                    return Err(Violation::Unexpected("categories"));
                }
                self.set_categories(categories);
                Ok(())
            }
            Err(error) if error.is_fatal() => Err(Violation::Protocol(error)),
            Err(error) => {
                let violation = Violation::Protocol(error);
                increment(&mut self.undecodable, MAX_UNDECODABLE, violation)
            }
        }
    }

    fn set_categories(&mut self, categories: Vec<CategoryInfo>) {
        self.category_memory = category_memory(&categories);
        self.categories = categories.into();
    }

    /// Returns the bytes of memory of incomplete messages and of known categories.
    pub(crate) fn memory(&self) -> u64 {
        (self.decoder.memory() + self.category_memory) as u64
    }

    /// Returns the number of packets that are read in one turn.
    pub(crate) fn packets_per_turn() -> usize {
        PACKETS_PER_TURN
    }

    /// Reads one packet.
    pub(crate) fn receive_packet(&mut self) -> Result<ReceivedPacket, Violation> {
        let Some(packets) = &self.packets else { return Ok(ReceivedPacket::Nothing) };
        self.check_closer()?;
        // One byte more than a packet, to detect longer ones.
        let mut bytes = [0; PACKET_SIZE + 1];
        let read = match packets.receive(&mut bytes) {
            Ok((_, true)) => return Err(DESCRIPTORS),
            Ok((0, false)) => return Ok(ReceivedPacket::Closed),
            Ok((read, false)) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(ReceivedPacket::Nothing)
            }
            Err(_) => return Ok(ReceivedPacket::Closed),
        };
        if !self.packet_rate.count(Instant::now(), PACKETS_PER_SECOND) {
            return Err(Violation::Flood);
        }
        let packet = Packet::decode(bytes.get(..read).unwrap_or_default());
        packet.map(ReceivedPacket::Packet).map_err(Violation::Protocol)
    }

    /// Sends a packet. The socket's buffer is large enough for all packets that a provider should
    /// leave unread.
    pub(crate) fn send_packet(&self, packet: Packet) -> Result<(), Violation> {
        let Some(packets) = &self.packets else { return Ok(()) };
        match packets.send(&packet.encode(), &[]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Violation::NotReading),
            // A closed peer is detected by the next read.
            _ => Ok(()),
        }
    }

    /// Returns what the state machines know of the provider.
    pub(crate) fn registration(&self, is_companion: bool) -> Registration {
        let clock = self.register.as_ref().map_or_else(Default::default, |it| it.clock);
        let PeerCredentials { uid, pid, .. } = self.peer;
        let features = self.features.unwrap_or_default();
        let companion = is_companion.then_some(pid);
        Registration { uid, name: self.name(), features, clock, companion }
    }

    /// Returns the provider's name, or else that of its process.
    pub(crate) fn name(&self) -> String {
        let register = self.register.as_ref();
        let name = register.map(|register| register.name.as_str()).unwrap_or_default();
        if name.is_empty() {
            return self.process_name();
        }
        name.to_owned()
    }

    /// Returns the name of its process, as given by the provider, else by the kernel.
    pub(crate) fn process_name(&self) -> String {
        let register = self.register.as_ref();
        let name = register.map(|register| register.process_name.as_str()).unwrap_or_default();
        if !name.is_empty() {
            return name.to_owned();
        }
        self.kernel_name.get_or_init(|| kernel_name(self.peer.pid)).clone()
    }
}

/// Returns the kernel's name of a process.
fn kernel_name(pid: u32) -> String {
    let comm = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    comm.map_or_else(|_| format!("process {pid}"), |comm| comm.trim_end().to_owned())
}

/// Truncates a name, and frees the memory of the rest.
fn truncate(name: &mut String) {
    *name = cut_str(name, MAX_PROVIDER_NAME).to_owned();
}

/// Returns the bytes of memory of categories.
fn category_memory(categories: &[CategoryInfo]) -> usize {
    let bytes = |it: &CategoryInfo| size_of_val(it) + it.name.len() + it.description.len();
    categories.iter().map(bytes).sum()
}

/// Increments a counter. Returns the violation if it exceeds `max`.
fn increment(counter: &mut u32, max: u32, violation: Violation) -> Result<(), Violation> {
    *counter += 1;
    if *counter > max {
        return Err(violation);
    }
    Ok(())
}
