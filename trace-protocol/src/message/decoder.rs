//! Decoding of messages from a stream of bytes.

use std::marker::PhantomData;

use super::{Message, HEAD_SIZE, MAX_BODY, VERSION};
use crate::error::ProtocolError;

/// The memory, in bytes, that a decoder keeps for the next message.
const KEPT: usize = 64 << 10;

/// Decodes a stream of bytes into messages of the type `M`.
///
/// If the caller takes all messages between two calls of [`feed`](Self::feed), it holds at most one
/// incomplete message ([`MAX_BODY`] bytes and a head) and the last bytes fed.
#[derive(Debug)]
pub struct Decoder<M> {
    buffered: Vec<u8>,
    taken: usize,
    broken: Option<ProtocolError>,
    messages: PhantomData<fn() -> M>,
}

impl<M> Default for Decoder<M> {
    fn default() -> Self {
        Self { buffered: Vec::new(), taken: 0, broken: None, messages: PhantomData }
    }
}

impl<M: Message> Decoder<M> {
    /// Creates a decoder at the beginning of a message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds received bytes. After a fatal error they are ignored.
    pub fn feed(&mut self, untrusted: &[u8]) {
        if self.broken.is_none() {
            self.buffered.drain(..self.taken);
            self.taken = 0;
            self.buffered.extend_from_slice(untrusted);
        }
    }

    /// Returns the size of its memory, in bytes.
    pub fn memory(&self) -> usize {
        self.buffered.capacity()
    }

    /// Returns whether the bytes fed so far end inside a message.
    pub fn is_inside_message(&self) -> bool {
        self.taken < self.buffered.len()
    }

    /// Returns the next message, or `None` until more bytes are fed.
    ///
    /// # Errors
    ///
    /// If a message is malformed or unknown, it is skipped. If its body is too long, this and every
    /// later call fail ([`ProtocolError::is_fatal`]).
    pub fn next_message(&mut self) -> Option<Result<M, ProtocolError>> {
        if let Some(error) = &self.broken {
            return Some(Err(error.clone()));
        }
        if self.taken == self.buffered.len() && self.buffered.capacity() > KEPT {
            // The last message was long: free its memory.
            (self.buffered, self.taken) = (Vec::new(), 0);
        }
        let rest = self.buffered.get(self.taken..)?;
        let (head, rest) = rest.split_first_chunk::<HEAD_SIZE>()?;
        let [l0, l1, l2, l3, k0, k1, v0, v1] = *head;
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        if length > MAX_BODY {
            return Some(Err(self.break_off(ProtocolError::BodyTooLong { length })));
        }
        let body = rest.get(..length as usize)?;
        self.taken += HEAD_SIZE + body.len();
        Some(decode(u16::from_le_bytes([k0, k1]), u16::from_le_bytes([v0, v1]), body))
    }

    fn break_off(&mut self, error: ProtocolError) -> ProtocolError {
        self.buffered = Vec::new();
        self.taken = 0;
        self.broken = Some(error.clone());
        error
    }
}

fn decode<M: Message>(kind: u16, version: u16, body: &[u8]) -> Result<M, ProtocolError> {
    match version {
        VERSION => M::decode_body(kind, body),
        found => Err(ProtocolError::Version { found }),
    }
}
