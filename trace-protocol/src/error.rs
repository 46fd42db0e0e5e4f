//! The error type of packets and messages.

use std::fmt;

/// The reason for which bytes from the other process are not a valid packet or message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A packet is not 16 bytes long. Holds its length.
    PacketLength(usize),
    /// A packet has an unknown request number.
    UnknownRequest(u16),
    /// A packet has a nonzero unused field.
    ReservedBits {
        /// The request number of the packet.
        request: u16,
    },
    /// The name of an alert is empty, is not UTF-8, or continues after a zero byte.
    AlertName,
    /// A message has a body longer than [`MAX_BODY`](crate::message::MAX_BODY). Later messages
    /// cannot be decoded.
    BodyTooLong {
        /// The length in bytes.
        length: u32,
    },
    /// A message has an unknown kind. It was skipped.
    UnknownKind(u16),
    /// A message is an event of an unknown kind, as a later version sends. It was skipped.
    UnknownEvent(u16),
    /// The version of a message is not [`VERSION`](crate::message::VERSION). It was skipped.
    Version {
        /// The version of the message.
        found: u16,
    },
    /// The body of a message is malformed. It was skipped.
    Body {
        /// The kind of the message.
        kind: u16,
        /// The offset in the body, in bytes, at which decoding stopped.
        offset: usize,
    },
}

impl ProtocolError {
    /// Returns whether the stream of messages cannot be decoded any further.
    ///
    /// After any other error, the decoder continues with the next message.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::BodyTooLong { .. })
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PacketLength(found) => {
                write!(f, "packet of {found} bytes, must have 16")
            }
            Self::UnknownRequest(request) => write!(f, "unknown packet request {request:#x}"),
            Self::ReservedBits { request } => {
                write!(f, "packet request {request:#x}: an unused field is not zero")
            }
            Self::AlertName => write!(f, "alert name is not 1 to 14 bytes of UTF-8"),
            Self::BodyTooLong { length } => write!(
                f,
                "message of {length} bytes, the limit is {} bytes",
                crate::limits::MAX_BODY
            ),
            Self::UnknownKind(kind) => write!(f, "unknown message kind {kind:#x}"),
            Self::UnknownEvent(kind) => write!(f, "unknown event kind {kind:#x}"),
            Self::Version { found } => write!(
                f,
                "message has protocol version {found}, only {} is supported",
                crate::limits::VERSION
            ),
            Self::Body { kind, offset } => {
                write!(f, "message kind {kind:#x}: malformed body at byte {offset}")
            }
        }
    }
}

impl std::error::Error for ProtocolError {}
