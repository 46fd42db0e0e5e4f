//! Messages: the control protocol over the registration socket.
//!
//! ```text
//!  0             4       6         8
//!  +-------------+-------+---------+---------------------+
//!  | body length | kind  | version |        body         |   little endian
//!  +-------------+-------+---------+---------------------+
//! ```
//!
//! A string is its length in bytes (u32) and UTF-8. A list is its number of items (u32) and the
//! items. This module does no I/O: [`encode`](ToManager::encode) returns bytes, and a [`Decoder`]
//! is fed with received bytes. File descriptors are sent beside the bytes; see [`crate::socket`].
//!
//! Bytes of the other process are hostile. A body is at most [`MAX_BODY`] bytes long, a list takes
//! no more memory than the bytes of its items, and a malformed message is reported and skipped.

pub(crate) mod body;
mod decoder;
#[cfg(test)]
mod tests;
mod to_manager;
mod to_provider;

pub use crate::limits::{
    HEAD_SIZE, MAX_BODY, MAX_LIMITS, MAX_LIMIT_BYTES, MAX_PROVIDER_NAME, VERSION,
};
pub use decoder::Decoder;
pub use to_manager::{CategoryInfo, ClockSource, Features, Register, ToManager};
pub use to_provider::{BufferDisposition, DurationLimit, Initialize, StartOptions, ToProvider};

use crate::error::ProtocolError;
use body::{BodyReader, BodyWriter};

/// The messages of one direction.
pub trait Message: Sized {
    /// Decodes the body of a message of this kind.
    ///
    /// # Errors
    ///
    /// If the kind is unknown or the body is malformed.
    fn decode_body(kind: u16, untrusted: &[u8]) -> Result<Self, ProtocolError>;
}

/// Returns a message: its head and the body that `write` appends.
pub(crate) fn encode_message(kind: u16, write: impl FnOnce(&mut BodyWriter)) -> Vec<u8> {
    let mut body = BodyWriter::with_head();
    write(&mut body);
    body.finish(kind)
}

/// Decodes a body with `read`, which must consume all of it.
pub(crate) fn decode_all<M>(
    kind: u16,
    untrusted: &[u8],
    read: impl FnOnce(&mut BodyReader<'_>) -> Option<M>,
) -> Result<M, ProtocolError> {
    let mut body = BodyReader::new(untrusted);
    let message = read(&mut body).filter(|_| body.is_empty());
    message.ok_or(ProtocolError::Body { kind, offset: body.offset() })
}
