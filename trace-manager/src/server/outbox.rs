//! The messages that a provider has not read yet.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::net::Shutdown;
use trace_protocol::message::ToProvider;
use trace_protocol::socket::Socket;

use crate::buffers::SharedBuffer;
use crate::machine::Violation;

/// The most bytes that wait for a provider to read them.
const MAX_WAITING: usize = 4 << 20;

/// The file descriptors that are sent with Initialize.
#[derive(Debug)]
pub(crate) struct Handles {
    pub(crate) buffer: Arc<SharedBuffer>,
    pub(crate) packets: Socket,
}

#[derive(Debug)]
struct QueuedMessage {
    bytes: Vec<u8>,
    sent: usize,
    handles: Option<Handles>,
}

/// The queue of messages that are not completely sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<QueuedMessage>,
    waiting: usize,
}

impl Outbox {
    /// Appends a message.
    pub(crate) fn push(
        &mut self,
        message: &ToProvider,
        handles: Option<Handles>,
    ) -> Result<(), Violation> {
        let bytes = message.encode();
        self.waiting += bytes.len();
        self.queue.push_back(QueuedMessage { bytes, sent: 0, handles });
        if self.waiting > MAX_WAITING {
            return Err(Violation::NotReading);
        }
        Ok(())
    }

    /// Returns whether all messages are sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends as much as the socket accepts without waiting.
    ///
    /// If that fails, drops all messages and shuts the socket down: the next read detects it. A
    /// provider that misses a message could not follow the protocol any more.
    pub(crate) fn flush(&mut self, socket: &Socket) {
        while let Some(message) = self.queue.front_mut() {
            match message.send(socket) {
                Ok(sent) => self.waiting -= sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Fails if the peer is closed.
                    let _closed = rustix::net::shutdown(socket.as_fd(), Shutdown::ReadWrite);
                    return *self = Self::default();
                }
            }
            if message.sent >= message.bytes.len() {
                self.queue.pop_front();
            }
        }
    }
}

impl QueuedMessage {
    /// Sends the rest of the message. The handles are sent with its first byte, and then closed
    /// here.
    fn send(&mut self, socket: &Socket) -> io::Result<usize> {
        let rest = self.bytes.get(self.sent..).unwrap_or_default();
        let sent = match &self.handles {
            Some(handles) => {
                socket.send(rest, &[handles.buffer.as_fd(), handles.packets.as_fd()])?
            }
            None => socket.send(rest, &[])?,
        };
        self.handles = None;
        self.sent += sent;
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(length: usize) -> ToProvider {
        ToProvider::Refused { reason: "x".repeat(length) }
    }

    /// Reads until the socket is empty. Returns the bytes and the number of descriptors.
    fn received(socket: &Socket) -> (Vec<u8>, usize) {
        let (mut bytes, mut fds, mut buffer) = (Vec::new(), Vec::new(), vec![0; 64 << 10]);
        while let Ok(count @ 1..) = socket.recv_with_fds(&mut buffer, &mut fds) {
            bytes.extend_from_slice(&buffer[..count]);
        }
        (bytes, fds.len())
    }

    fn pair() -> (Socket, Socket) {
        let (ours, theirs) = Socket::packet_pair().unwrap();
        ours.set_nonblocking(true);
        theirs.set_nonblocking(true);
        (ours, theirs)
    }

    #[test]
    fn messages_are_sent_in_order() {
        let (ours, theirs) = pair();
        let mut outbox = Outbox::default();
        assert!(outbox.is_empty());
        outbox.push(&refused(1), None).unwrap();
        outbox.push(&refused(2), None).unwrap();
        assert!(!outbox.is_empty());
        outbox.flush(&ours);
        assert!(outbox.is_empty());
        let expected = [refused(1).encode(), refused(2).encode()].concat();
        assert_eq!(received(&theirs), (expected, 0));
    }

    /// If the provider reads later, the rest waits, and no byte is sent twice.
    #[test]
    fn messages_wait_for_a_provider_that_does_not_read() {
        let (ours, theirs) = pair();
        let mut outbox = Outbox::default();
        let mut expected = Vec::new();
        for length in 0..1000 {
            outbox.push(&refused(length), None).unwrap();
            expected.extend(refused(length).encode());
        }
        let mut bytes = Vec::new();
        outbox.flush(&ours);
        assert!(!outbox.is_empty(), "the messages exceed the socket's buffer");
        while !outbox.is_empty() {
            bytes.extend(received(&theirs).0);
            outbox.flush(&ours);
        }
        bytes.extend(received(&theirs).0);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_provider_that_does_not_read_is_cut_off_at_the_limit() {
        let size = refused(1 << 19).encode().len();
        let mut outbox = Outbox::default();
        for _ in 0..MAX_WAITING / size {
            assert!(outbox.push(&refused(1 << 19), None).is_ok());
        }
        let rest = MAX_WAITING % size - refused(0).encode().len();
        assert!(outbox.push(&refused(rest), None).is_ok(), "the limit is not exceeded");
        assert!(matches!(outbox.push(&refused(0), None), Err(Violation::NotReading)));
    }

    /// Sent bytes do not count towards the limit.
    #[test]
    fn only_waiting_bytes_count() {
        let (ours, theirs) = pair();
        let mut outbox = Outbox::default();
        for _ in 0..MAX_WAITING / 1000 * 2 {
            outbox.push(&refused(2000), None).unwrap();
            outbox.flush(&ours);
            received(&theirs);
        }
        assert!(outbox.is_empty());
    }

    #[test]
    fn messages_to_a_closed_provider_are_dropped() {
        let (ours, theirs) = pair();
        drop(theirs);
        let mut outbox = Outbox::default();
        outbox.push(&refused(1), None).unwrap();
        outbox.flush(&ours);
        assert!(outbox.is_empty());
    }

    /// Such an error is not of the peer: the peer would wait for the message for ever.
    #[test]
    fn a_message_that_cannot_be_sent_ends_the_connection() {
        let (ours, theirs) = Socket::packet_pair().unwrap();
        theirs.set_nonblocking(true);
        let mut outbox = Outbox::default();
        // A packet has at most the bytes of the socket's buffer.
        outbox.push(&refused(2 << 20), None).unwrap();
        outbox.flush(&ours);
        assert!(outbox.is_empty());
        assert_eq!(theirs.recv(&mut [0]).unwrap(), 0);
    }
}
