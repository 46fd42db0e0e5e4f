//! Messages: the control protocol over the registration socket, as bytes.
//!
//! ```text
//!  0             4       6         8
//!  +-------------+-------+---------+---------------------+
//!  | body length | kind  | version |        body         |   little endian
//!  +-------------+-------+---------+---------------------+
//! ```
//!
//! A string is its length in bytes (u32) and UTF-8. A list is its length in items (u32) and the
//! items. Nothing here does I/O: [`encode`](ToManager::encode) makes bytes, a [`Decoder`] is fed
//! with bytes as they come. File descriptors travel beside the bytes; see [`crate::socket`].
//!
//! Bytes of the other process are hostile: a body is at most [`MAX_BODY`] long, a list takes no
//! more memory than its items' bytes, and a message that is not understood is reported and skipped.

mod body;
mod decoder;
mod limits;
#[cfg(test)]
mod tests;
mod to_manager;
mod to_provider;

pub use decoder::Decoder;
pub use limits::{HEAD_SIZE, MAX_BODY, MAX_PROVIDER_NAME, VERSION};
pub use to_manager::{CategoryInfo, ClockSource, Register, ToManager};
pub use to_provider::{BufferDisposition, Initialize, StartOptions, ToProvider};

use crate::error::ProtocolError;
use body::{BodyReader, BodyWriter};

/// A set of messages that travel in one direction.
pub trait Message: Sized {
    /// Decodes the body of a message of the given kind.
    ///
    /// # Errors
    ///
    /// When the kind is unknown or the body does not hold what the kind says.
    fn decode_body(kind: u16, untrusted: &[u8]) -> Result<Self, ProtocolError>;
}

/// Puts the head before the body that `write` makes.
fn encode_message(kind: u16, write: impl FnOnce(&mut BodyWriter)) -> Vec<u8> {
    let mut body = BodyWriter::with_head();
    write(&mut body);
    body.finish(kind)
}

/// Runs `read` over the whole body.
fn decode_all<M>(
    kind: u16,
    untrusted: &[u8],
    read: impl FnOnce(&mut BodyReader<'_>) -> Option<M>,
) -> Result<M, ProtocolError> {
    let mut body = BodyReader::new(untrusted);
    let message = read(&mut body).filter(|_| body.is_empty());
    message.ok_or(ProtocolError::Body { kind, offset: body.offset() })
}
