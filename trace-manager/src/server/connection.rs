//! One provider's sockets.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{pidfd_open, Pid, PidfdFlags};
use trace_format::layout::cut_str;
use trace_protocol::error::ProtocolError;
use trace_protocol::message::{CategoryInfo, Decoder, Register, ToManager, MAX_PROVIDER_NAME};
use trace_protocol::packet::{Packet, PACKET_SIZE};
use trace_protocol::socket::{PeerCredentials, Socket};

use super::outbox::{Handles, Outbox};
use super::retained::RetainedBuffer;
use crate::buffers::SharedBuffer;
use crate::machine::Violation;

/// Packets taken in one turn.
const PACKETS_PER_TURN: usize = 64;

/// Packets a provider may send in one second. A save needs a buffer to be filled, a 4 KiB one in a
/// few microseconds at most, but each waits for its answer.
const PACKETS_PER_SECOND: u32 = 200_000;

/// Messages that a provider may send without being asked, over its life.
const MAX_UNSOLICITED: u32 = 64;

/// Messages that are not understood, over its life.
const MAX_UNDECODABLE: u32 = 16;

/// One connected process; a provider once it has registered.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: PeerCredentials,
    pub(crate) accepted: Instant,
    pub(crate) register: Option<Register>,
    pub(crate) socket: Socket,
    /// The process, to see its end.
    pub(crate) process: Option<OwnedFd>,
    pub(crate) packets: Option<Socket>,
    /// Buffer and packet socket on their way to the provider.
    pub(crate) handles: Option<Handles>,
    /// Its buffer in the session.
    pub(crate) buffer: Option<Arc<SharedBuffer>>,
    /// Those that it did not leave when it was asked to.
    pub(crate) retained: Vec<RetainedBuffer>,
    pub(crate) outbox: Outbox,
    /// It counts as a provider.
    pub(crate) admitted: bool,
    /// The memory that it is counted with.
    pub(crate) counted_memory: u64,
    decoder: Decoder<ToManager>,
    /// The memory that the categories take.
    categories: usize,
    unsolicited: u32,
    undecodable: u32,
    window: Instant,
    packets_in_window: u32,
}

/// What came over the registration socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The provider's first message; see [`Connection::register`].
    Registered,
    /// Nothing more for now.
    Nothing,
    /// The provider closed it.
    Closed,
}

/// What came over the packet socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReceivedPacket {
    Packet(Packet),
    Nothing,
    Closed,
}

impl Connection {
    /// Takes a connection that was just accepted.
    pub(crate) fn new(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true);
        let peer = socket.peer_credentials()?;
        let pid = i32::try_from(peer.pid).ok().and_then(Pid::from_raw);
        let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Self {
            peer,
            accepted: Instant::now(),
            process,
            register: None,
            socket,
            packets: None,
            handles: None,
            buffer: None,
            retained: Vec::new(),
            outbox: Outbox::default(),
            admitted: false,
            counted_memory: 0,
            decoder: Decoder::new(),
            categories: 0,
            unsolicited: 0,
            undecodable: 0,
            window: Instant::now(),
            packets_in_window: 0,
        })
    }

    /// Reads messages once. `scratch` bounds what is read in a turn.
    pub(crate) fn receive(&mut self, scratch: &mut [u8]) -> Result<Received, Violation> {
        let read = match self.socket.recv(scratch) {
            Ok(0) => return Ok(Received::Closed),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Received::Nothing)
            }
            Err(_) => return Ok(Received::Closed),
        };
        self.decoder.feed(scratch.get(..read).unwrap_or_default());
        let mut received = Received::Nothing;
        while let Some(message) = self.decoder.next_message() {
            if self.take(message)? {
                received = Received::Registered;
            }
        }
        Ok(received)
    }

    /// Takes one message. Tells whether it was the registration.
    fn take(&mut self, message: Result<ToManager, ProtocolError>) -> Result<bool, Violation> {
        match message {
            Ok(ToManager::Register(_)) if self.register.is_some() => {
                Err(Violation::Unexpected("a second registration"))
            }
            Ok(ToManager::Register(mut register)) => {
                // What is retained of them is counted nowhere, so it is little.
                truncate(&mut register.name);
                truncate(&mut register.process_name);
                self.categories = category_memory(&register.categories);
                self.register = Some(register);
                Ok(true)
            }
            Ok(ToManager::KnownCategories(categories)) => {
                increment(&mut self.unsolicited, MAX_UNSOLICITED, Violation::Flood)?;
                let register = self.register.as_mut();
                let register = register.ok_or(Violation::Unexpected("categories"))?;
                self.categories = category_memory(&categories);
                register.categories = categories;
                Ok(false)
            }
            Err(error) if error.is_fatal() => Err(Violation::Protocol(error)),
            Err(error) => {
                let violation = Violation::Protocol(error);
                increment(&mut self.undecodable, MAX_UNDECODABLE, violation).map(|()| false)
            }
        }
    }

    /// Returns the bytes of memory that its messages take, and the categories it has said to know.
    pub(crate) fn memory(&self) -> u64 {
        (self.decoder.memory() + self.categories) as u64
    }

    /// Returns how many packets may be taken in one turn.
    pub(crate) fn packets_per_turn() -> usize {
        PACKETS_PER_TURN
    }

    /// Reads one packet.
    pub(crate) fn receive_packet(&mut self) -> Result<ReceivedPacket, Violation> {
        let Some(packets) = &self.packets else { return Ok(ReceivedPacket::Nothing) };
        // One byte more than a packet, so that one that is too long is seen to be.
        let mut bytes = [0; PACKET_SIZE + 1];
        let read = match packets.recv(&mut bytes) {
            Ok(0) => return Ok(ReceivedPacket::Closed),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(ReceivedPacket::Nothing)
            }
            Err(_) => return Ok(ReceivedPacket::Closed),
        };
        self.count_packet()?;
        let packet = Packet::decode(bytes.get(..read).unwrap_or_default());
        packet.map(ReceivedPacket::Packet).map_err(Violation::Protocol)
    }

    fn count_packet(&mut self) -> Result<(), Violation> {
        if self.packets_in_window == 0 || self.window.elapsed() > Duration::from_secs(1) {
            self.window = Instant::now();
            self.packets_in_window = 0;
        }
        increment(&mut self.packets_in_window, PACKETS_PER_SECOND, Violation::Flood)
    }

    /// Sends a packet. The socket has room for many more than a provider leaves unread.
    pub(crate) fn send_packet(&self, packet: Packet) -> Result<(), Violation> {
        let Some(packets) = &self.packets else { return Ok(()) };
        match packets.send(&packet.encode(), &[]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Violation::NotReading),
            // A peer that is gone is seen when the socket is read.
            _ => Ok(()),
        }
    }

    /// Returns the provider's name, or something to call it by.
    pub(crate) fn name(&self) -> String {
        let register = self.register.as_ref();
        let given = register.map(|register| register.name.as_str()).unwrap_or_default();
        if given.is_empty() {
            return self.process_name();
        }
        given.to_owned()
    }

    /// Returns the name of its process: as it says, or as the kernel says.
    pub(crate) fn process_name(&self) -> String {
        let register = self.register.as_ref();
        let given = register.map(|register| register.process_name.as_str()).unwrap_or_default();
        if !given.is_empty() {
            return given.to_owned();
        }
        let comm = std::fs::read_to_string(format!("/proc/{}/comm", self.peer.pid));
        comm.map_or_else(
            |_| format!("process {}", self.peer.pid),
            |comm| comm.trim_end().to_owned(),
        )
    }
}

/// Leaves of a name what counts, with no more memory than that takes.
fn truncate(name: &mut String) {
    *name = cut_str(name, MAX_PROVIDER_NAME).to_owned();
}

/// Returns the bytes of memory that categories take.
fn category_memory(categories: &[CategoryInfo]) -> usize {
    let bytes = |it: &CategoryInfo| size_of_val(it) + it.name.len() + it.description.len();
    categories.iter().map(bytes).sum()
}

/// Counts one more; too many are a violation.
fn increment(counter: &mut u32, max: u32, violation: Violation) -> Result<(), Violation> {
    *counter += 1;
    if *counter > max {
        return Err(violation);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Connection, Socket) {
        let (ours, theirs) = Socket::packet_pair().unwrap();
        (Connection::new(ours).unwrap(), theirs)
    }

    fn register(name: &str) -> ToManager {
        ToManager::Register(Register { name: name.to_owned(), ..Register::default() })
    }

    fn send(
        connection: &mut Connection,
        theirs: &Socket,
        bytes: &[u8],
    ) -> Result<Received, Violation> {
        theirs.send(bytes, &[]).unwrap();
        connection.receive(&mut [0; 1024])
    }

    #[test]
    fn registering_twice_is_a_violation() {
        let (mut connection, theirs) = pair();
        let bytes = register("one").encode();
        assert_eq!(send(&mut connection, &theirs, &bytes), Ok(Received::Registered));
        assert_eq!(connection.name(), "one");
        let again = send(&mut connection, &theirs, &bytes);
        assert_eq!(again, Err(Violation::Unexpected("a second registration")));
    }

    #[test]
    fn names_are_cut_and_found() {
        let (mut connection, theirs) = pair();
        let long = "é".repeat(80);
        send(&mut connection, &theirs, &register(&long).encode()).unwrap();
        assert_eq!(connection.name(), "é".repeat(50));
        assert!(!connection.process_name().is_empty());
        let (mut connection, theirs) = pair();
        send(&mut connection, &theirs, &register("").encode()).unwrap();
        assert_eq!(connection.name(), connection.process_name());
    }

    /// Thousands of connections with names of a mebibyte would fill the memory.
    #[test]
    fn long_names_take_no_memory() {
        let (mut connection, theirs) = pair();
        let long = "x".repeat(400);
        let names = Register { name: long.clone(), process_name: long, ..Register::default() };
        send(&mut connection, &theirs, &ToManager::Register(names).encode()).unwrap();
        let register = connection.register.unwrap();
        let retained = register.name.capacity() + register.process_name.capacity();
        assert!(retained <= 2 * MAX_PROVIDER_NAME, "{retained} bytes");
    }

    #[test]
    fn garbage_is_a_violation() {
        let (mut connection, theirs) = pair();
        let error = send(&mut connection, &theirs, &[0xff; 64]).unwrap_err();
        assert!(matches!(error, Violation::Protocol(error) if error.is_fatal()));
    }

    #[test]
    fn unknown_messages_are_borne_for_a_while() {
        let (mut connection, theirs) = pair();
        for _ in 0..MAX_UNDECODABLE {
            let unknown = b"\0\0\0\0\x99\x00\x01\x00";
            assert_eq!(send(&mut connection, &theirs, unknown), Ok(Received::Nothing));
        }
        assert!(send(&mut connection, &theirs, b"\0\0\0\0\x99\x00\x01\x00").is_err());
    }

    #[test]
    fn categories_change_but_not_for_ever() {
        let (mut connection, theirs) = pair();
        let categories = vec![CategoryInfo { name: "io".to_owned(), description: String::new() }];
        let bytes = ToManager::KnownCategories(categories.clone()).encode();
        send(&mut connection, &theirs, &register("x").encode()).unwrap();
        for _ in 0..MAX_UNSOLICITED {
            assert_eq!(send(&mut connection, &theirs, &bytes), Ok(Received::Nothing));
        }
        assert_eq!(connection.register.as_ref().unwrap().categories, categories);
        assert_eq!(send(&mut connection, &theirs, &bytes), Err(Violation::Flood));
    }

    #[test]
    fn the_last_categories_are_counted() {
        let (mut connection, theirs) = pair();
        send(&mut connection, &theirs, &register("x").encode()).unwrap();
        for length in [900, 300] {
            let name = "x".repeat(length);
            let categories = vec![CategoryInfo { name, description: String::new() }];
            let bytes = ToManager::KnownCategories(categories).encode();
            send(&mut connection, &theirs, &bytes).unwrap();
            let counted = connection.memory() - connection.decoder.memory() as u64;
            assert_eq!(counted, (size_of::<CategoryInfo>() + length) as u64);
        }
    }

    #[test]
    fn more_packets_in_a_second_than_there_is_reason_for_are_a_violation() {
        let (mut connection, _control) = pair();
        let (ours, theirs) = Socket::packet_pair().unwrap();
        ours.set_nonblocking(true);
        connection.packets = Some(ours);
        let packet = Ok(ReceivedPacket::Packet(Packet::Stopped));
        let mut receive = |earlier, window| {
            (connection.packets_in_window, connection.window) = (earlier, window);
            theirs.send(&Packet::Stopped.encode(), &[]).unwrap();
            connection.receive_packet()
        };
        let now = Instant::now();
        // It does not end while the test runs.
        let this = now + Duration::from_secs(3600);
        assert_eq!(receive(PACKETS_PER_SECOND - 1, this), packet);
        assert_eq!(receive(PACKETS_PER_SECOND, this), Err(Violation::Flood));
        let Some(last) = now.checked_sub(Duration::from_secs(2)) else { return };
        assert_eq!(receive(PACKETS_PER_SECOND, last), packet);
    }

    #[test]
    fn a_long_packet_is_a_violation() {
        let (mut connection, _control) = pair();
        let (ours, theirs) = Socket::packet_pair().unwrap();
        ours.set_nonblocking(true);
        connection.packets = Some(ours);
        assert_eq!(connection.receive_packet(), Ok(ReceivedPacket::Nothing));
        theirs.send(&Packet::Stopped.encode(), &[]).unwrap();
        assert_eq!(connection.receive_packet(), Ok(ReceivedPacket::Packet(Packet::Stopped)));
        theirs.send(&[0; 100], &[]).unwrap();
        let error = Violation::Protocol(ProtocolError::PacketLength(17));
        assert_eq!(connection.receive_packet(), Err(error));
        drop(theirs);
        assert_eq!(connection.receive_packet(), Ok(ReceivedPacket::Closed));
    }
}
