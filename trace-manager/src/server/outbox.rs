//! Messages to a provider, in order, as fast as it reads them.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use trace_protocol::message::ToProvider;
use trace_protocol::socket::Socket;

use crate::buffers::SharedBuffer;
use crate::machine::Violation;

/// Bytes that may wait for a provider to read them.
const MAX_WAITING: usize = 4 << 20;

/// What goes to a provider with the terms of a session.
#[derive(Debug)]
pub(crate) struct Handles {
    pub(crate) buffer: Arc<SharedBuffer>,
    pub(crate) packets: Socket,
}

#[derive(Debug)]
struct Letter {
    bytes: Vec<u8>,
    sent: usize,
    handles: Option<Handles>,
}

/// Messages that were not sent whole.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    letters: VecDeque<Letter>,
    waiting: usize,
}

impl Outbox {
    /// Adds a message behind the others.
    pub(crate) fn push(
        &mut self,
        message: &ToProvider,
        handles: Option<Handles>,
    ) -> Result<(), Violation> {
        let bytes = message.encode();
        self.waiting += bytes.len();
        self.letters.push_back(Letter { bytes, sent: 0, handles });
        if self.waiting > MAX_WAITING {
            return Err(Violation::NotReading);
        }
        Ok(())
    }

    /// Tells whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Sends what the socket takes without waiting.
    ///
    /// A peer that is gone is no error here: its end is seen when the socket is read.
    pub(crate) fn flush(&mut self, socket: &Socket) {
        while let Some(letter) = self.letters.front_mut() {
            match letter.send(socket) {
                Ok(sent) => self.waiting -= sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return *self = Self::default(),
            }
            if letter.sent >= letter.bytes.len() {
                self.letters.pop_front();
            }
        }
    }
}

impl Letter {
    /// Sends what is left; the handles go with the first byte and are ours no longer.
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
