//! One controller's connection.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use super::group;
use crate::foreign::{Closer, ForeignDescriptor, ForeignSocket};
use trace_protocol::control::{ToController, ToDaemon};
use trace_protocol::message::Decoder;
use trace_protocol::socket::{PeerCredentials, Socket, MAX_FDS};

/// The most messages of a connection that cannot be decoded.
const MAX_UNDECODABLE: u32 = 16;

/// Requests of a connection in one turn of the control thread.
const REQUESTS_PER_TURN: usize = 16;

/// A request, and the descriptor that was sent with it.
pub(super) type Received = (ToDaemon, Option<ForeignDescriptor>);

/// A connection of a controller.
#[derive(Debug)]
pub(super) struct Client {
    socket: ForeignSocket,
    pub(super) peer: PeerCredentials,
    decoder: Decoder<ToDaemon>,
    /// Received descriptors that belong to no complete message yet.
    descriptors: Vec<OwnedFd>,
    closer: Closer,
    undecodable: u32,
    /// Whether received requests are left for the next turn.
    pub(super) has_more: bool,
    /// Messages that are not sent yet.
    unsent: VecDeque<Vec<u8>>,
    /// Bytes of them, without those of the first one that are sent.
    unsent_bytes: usize,
    /// Bytes of the first message that are sent.
    sent: usize,
    /// If it is to be closed: the time at which it is, also if these are not sent.
    pub(super) closes_at: Option<Instant>,
}

/// Why a connection ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The controller closed it, or the socket failed.
    Closed,
    /// The controller violated the protocol.
    Violation(&'static str),
}

impl Client {
    /// Uses a connection. `closer` returns that of the descriptors of its user.
    pub(super) fn new(socket: Socket, closer: impl FnOnce(u32) -> Closer) -> io::Result<Self> {
        socket.set_nonblocking(true);
        let peer = socket.peer_credentials()?;
        let closer = closer(peer.uid);
        Ok(Self {
            peer,
            socket: ForeignSocket::stream(socket, closer.clone())?,
            closer,
            decoder: Decoder::new(),
            descriptors: Vec::new(),
            undecodable: 0,
            has_more: false,
            unsent: VecDeque::new(),
            unsent_bytes: 0,
            sent: 0,
            closes_at: None,
        })
    }

    /// Returns whether the controller is in the group that may use the socket with this path.
    pub(super) fn is_member(&self, path: &Path) -> bool {
        group::of_socket(path).is_some_and(|group| {
            self.peer.gid == group
                || self.socket.peer_groups().is_ok_and(|groups| groups.contains(&group))
        })
    }

    /// Returns the next complete requests. Reads once, at most the size of `scratch`, if none are
    /// left.
    pub(super) fn receive(&mut self, scratch: &mut [u8]) -> Result<Vec<Received>, Ended> {
        if !self.has_more && !self.read(scratch)? {
            return Ok(Vec::new());
        }
        let mut received = Vec::new();
        while let Some(message) = self.decoder.next_message() {
            match message {
                Ok(message) => {
                    let has_descriptor =
                        message.request.descriptors() > 0 && !self.descriptors.is_empty();
                    let descriptor = has_descriptor
                        .then(|| ForeignDescriptor::new(self.descriptors.remove(0), &self.closer));
                    received.push((message, descriptor));
                }
                Err(error) if error.is_fatal() => return Err(Ended::Violation("message too long")),
                Err(_) => self.undecodable += 1,
            }
            self.has_more = received.len() == REQUESTS_PER_TURN;
            if self.has_more {
                return Ok(received);
            }
        }
        self.has_more = false;
        self.check_rest().map(|()| received)
    }

    /// Reads once. Returns whether there were bytes.
    fn read(&mut self, scratch: &mut [u8]) -> Result<bool, Ended> {
        if !self.closer.accepts() {
            return Err(Ended::Violation("descriptors of its user cannot be closed"));
        }
        let read = match self.socket.recv_with_all_fds(scratch, &mut self.descriptors) {
            Ok((_, true)) => return Err(Ended::Violation("some of its descriptors are missing")),
            Ok((0, false)) => return Err(Ended::Closed),
            Ok((read, false)) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(_) => return Err(Ended::Closed),
        };
        self.decoder.feed(scratch.get(..read).unwrap_or_default());
        Ok(true)
    }

    /// Checks what does not belong to a complete request.
    fn check_rest(&mut self) -> Result<(), Ended> {
        if !self.decoder.is_inside_message() {
            // They were sent without a request that has a descriptor.
            self.close_descriptors();
        }
        if self.descriptors.len() > MAX_FDS {
            return Err(Ended::Violation("descriptors without a request"));
        }
        if self.undecodable > MAX_UNDECODABLE {
            return Err(Ended::Violation("too many malformed messages"));
        }
        Ok(())
    }

    fn close_descriptors(&mut self) {
        self.descriptors.drain(..).for_each(|it| self.closer.close(it));
    }

    /// Queues a message. Returns the number of bytes that wait.
    pub(super) fn queue(&mut self, message: &ToController) -> usize {
        let bytes = message.encode_in_parts();
        self.unsent_bytes += bytes.len();
        self.unsent.push_back(bytes);
        self.unsent_bytes
    }

    /// Returns the number of bytes that wait.
    pub(super) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Closes the connection after the last message is sent, or at this time. Drops the messages
    /// before it, except one that is sent in part.
    pub(super) fn close(&mut self, at: Instant) {
        self.closes_at = Some(at);
        self.has_more = false;
        self.decoder = Decoder::new();
        self.close_descriptors();
        let (first, last) = (usize::from(self.sent > 0), self.unsent.len().saturating_sub(1));
        self.unsent.drain(first.min(last)..last);
        self.unsent_bytes = self.unsent.iter().map(Vec::len).sum::<usize>() - self.sent;
    }

    /// Sends as much as the socket accepts without waiting. Returns whether all is sent.
    pub(super) fn flush(&mut self) -> Result<bool, Ended> {
        while let Some(message) = self.unsent.front() {
            match self.socket.send(message.get(self.sent..).unwrap_or_default(), &[]) {
                Ok(count) => {
                    self.sent += count;
                    self.unsent_bytes -= count;
                    if self.sent >= message.len() {
                        self.unsent.pop_front();
                        self.sent = 0;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(_) => return Err(Ended::Closed),
            }
        }
        Ok(true)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close_descriptors();
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use trace_protocol::control::{Reply, Request, TraceConfig};

    use super::*;

    fn pair() -> (Client, Socket) {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        (
            Client::new(OwnedFd::from(ours).into(), |_| Closer::default()).unwrap(),
            OwnedFd::from(theirs).into(),
        )
    }

    fn initialize() -> Vec<u8> {
        ToDaemon { id: 1, request: Request::Initialize(TraceConfig::default()) }.encode()
    }

    fn receive(client: &mut Client) -> Result<Vec<Received>, Ended> {
        client.receive(&mut [0; 4096])
    }

    #[test]
    fn a_descriptor_belongs_to_its_request() {
        let (mut client, theirs) = pair();
        let file = File::open("/dev/null").unwrap();
        let bytes = initialize();
        let (first, rest) = bytes.split_at(1);
        let query = ToDaemon { id: 2, request: Request::GetProviders }.encode();
        theirs.send(&query, &[]).unwrap();
        theirs.send(first, &[file.as_fd()]).unwrap();
        let received = receive(&mut client).unwrap();
        assert!(matches!(received.as_slice(), [(_, None)]), "{received:?}");
        theirs.send(rest, &[]).unwrap();
        let received = receive(&mut client).unwrap();
        assert!(matches!(received.as_slice(), [(_, Some(_))]), "{received:?}");
    }

    #[test]
    fn stray_descriptors_are_closed() {
        let (mut client, theirs) = pair();
        let file = File::open("/dev/null").unwrap();
        let query = ToDaemon { id: 2, request: Request::GetProviders }.encode();
        theirs.send(&query, &[file.as_fd()]).unwrap();
        assert_eq!(receive(&mut client).unwrap().len(), 1);
        assert!(client.descriptors.is_empty());
        theirs.send(&[9, 0], &[file.as_fd(); MAX_FDS]).unwrap();
        assert!(receive(&mut client).unwrap().is_empty());
        theirs.send(&[0, 0], &[file.as_fd()]).unwrap();
        let violation = Ended::Violation("descriptors without a request");
        assert_eq!(receive(&mut client).unwrap_err(), violation);
    }

    #[test]
    fn malformed_and_long_messages_end_the_connection() {
        let (mut client, theirs) = pair();
        for _ in 0..MAX_UNDECODABLE {
            theirs.send(b"\0\0\0\0\x99\x09\x01\x00", &[]).unwrap();
            assert!(receive(&mut client).unwrap().is_empty());
        }
        theirs.send(b"\0\0\0\0\x99\x09\x01\x00", &[]).unwrap();
        let violation = Ended::Violation("too many malformed messages");
        assert_eq!(receive(&mut client).unwrap_err(), violation);
        let (mut client, theirs) = pair();
        theirs.send(&[0xff; 8], &[]).unwrap();
        assert_eq!(receive(&mut client).unwrap_err(), Ended::Violation("message too long"));
        drop(theirs);
        assert_eq!(receive(&mut client).unwrap_err(), Ended::Closed);
    }

    /// What the controller does not read waits, and no byte is sent twice.
    #[test]
    fn replies_wait_for_the_controller() {
        let (mut client, theirs) = pair();
        let message = ToController { id: 1, reply: Reply::Closing("x".repeat((1 << 20) - 64)) };
        let expected = message.encode();
        assert_eq!(client.queue(&message), expected.len());
        assert_eq!(client.flush(), Ok(false));
        let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
        while bytes.len() < expected.len() {
            while let Ok(count @ 1..) = theirs.recv(&mut buffer) {
                bytes.extend_from_slice(&buffer[..count]);
            }
            client.flush().unwrap();
        }
        assert_eq!((bytes == expected, client.flush()), (true, Ok(true)));
    }

    #[test]
    fn a_turn_has_a_limited_number_of_requests() {
        let (mut client, theirs) = pair();
        let query = ToDaemon { id: 2, request: Request::GetProviders }.encode();
        theirs.send(&query.repeat(40), &[]).unwrap();
        let numbers: Vec<_> = (0..4).map(|_| receive(&mut client).unwrap().len()).collect();
        assert_eq!(numbers, [16, 16, 8, 0]);
        theirs.send(&query.repeat(16), &[]).unwrap();
        drop(theirs);
        assert_eq!((receive(&mut client).unwrap().len(), client.has_more), (16, true));
        assert_eq!((receive(&mut client).unwrap().len(), client.has_more), (0, false));
        assert_eq!(receive(&mut client).unwrap_err(), Ended::Closed);
    }

    #[test]
    fn a_closing_connection_keeps_only_the_reason() {
        let (mut client, theirs) = pair();
        let reply = |text: String| ToController { id: 1, reply: Reply::Closing(text) };
        let (large, reason) = (reply("x".repeat((1 << 20) - 64)), reply("reason".to_owned()));
        client.queue(&large);
        assert_eq!(client.flush(), Ok(false));
        for _ in 0..5 {
            client.queue(&large);
        }
        client.queue(&reason);
        client.close(Instant::now());
        assert!(client.unsent_bytes < 2 << 20, "{}", client.unsent_bytes);
        let (mut decoder, mut buffer) = (Decoder::<ToController>::new(), vec![0; 64 << 10]);
        let mut received = Vec::new();
        while received.len() < 2 {
            client.flush().unwrap();
            while let Ok(count @ 1..) = theirs.recv(&mut buffer) {
                decoder.feed(&buffer[..count]);
                while let Some(message) = decoder.next_message() {
                    received.push(message.unwrap());
                }
            }
        }
        assert!(received == [large, reason]);
        assert_eq!((client.unsent_bytes, client.flush()), (0, Ok(true)));
    }
}
