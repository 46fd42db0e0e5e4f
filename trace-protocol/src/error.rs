//! The one error type of packets and messages.

use std::fmt;

/// Says why bytes from the other process are not a packet or a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A packet is not 16 bytes long; holds the length found.
    PacketLength(usize),
    /// A packet has a request number that this version does not know.
    UnknownRequest(u16),
    /// A packet has a bit set that must be zero.
    ReservedBits {
        /// The request number of the packet.
        request: u16,
    },
    /// The name of an alert is not UTF-8, is empty or goes on behind a zero byte.
    AlertName,
    /// A message announces a body longer than [`MAX_BODY`](crate::message::MAX_BODY). No message
    /// behind it can be found.
    BodyTooLong {
        /// The announced length in bytes.
        length: u32,
    },
    /// A message has a kind that this version does not know. It was skipped.
    UnknownKind(u16),
    /// A message has another version than [`VERSION`](crate::message::VERSION). It was skipped.
    Version {
        /// The version found.
        found: u16,
    },
    /// A message's body does not hold what its kind says. It was skipped.
    Body {
        /// The kind of the message.
        kind: u16,
        /// The offset in the body, in bytes, at which decoding stopped.
        offset: usize,
    },
}

impl ProtocolError {
    /// Tells whether the stream of messages cannot be read any further.
    ///
    /// After any other error the decoder stands at the next message.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::BodyTooLong { .. })
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PacketLength(found) => {
                write!(f, "expected a packet of 16 bytes, found {found} bytes")
            }
            Self::UnknownRequest(request) => write!(f, "unknown packet request {request:#x}"),
            Self::ReservedBits { request } => {
                write!(f, "packet request {request:#x}: expected zero in the unused fields")
            }
            Self::AlertName => write!(f, "alert name: expected 1 to 14 bytes of UTF-8"),
            Self::BodyTooLong { length } => write!(
                f,
                "message of {length} bytes: expected at most {} bytes",
                crate::message::MAX_BODY
            ),
            Self::UnknownKind(kind) => write!(f, "unknown message kind {kind:#x}"),
            Self::Version { found } => write!(
                f,
                "message of protocol version {found}: expected version {}",
                crate::message::VERSION
            ),
            Self::Body { kind, offset } => {
                write!(f, "message kind {kind:#x}: malformed body at byte {offset}")
            }
        }
    }
}

impl std::error::Error for ProtocolError {}
