//! What fuzz targets drive. It is no part of the interface, and changes without notice.

use crate::choices::Choices;
use crate::control_server::{fuzzed as connections, interleavings as machines};
use crate::server::fuzzed as server;

/// Controllers, sessions, programs and deaths in any order, without I/O.
///
/// # Panics
///
/// If a reply, an event or a record is lost or sent twice.
pub fn interleavings(bytes: &[u8]) {
    machines::run(&mut Choices::Bytes(bytes));
}

/// Connections of controllers, with any bytes.
///
/// # Panics
///
/// If a reply is not that of one request, is lost, or cannot be decoded.
pub fn connections(bytes: &[u8]) {
    connections::run(&mut Choices::Bytes(bytes));
}

/// Hostile providers: messages, packets and shared memory.
///
/// # Panics
///
/// If the event loop keeps anything of them, or passes on a record that a reader refuses.
pub fn server(bytes: &[u8]) {
    server::run(&mut Choices::Bytes(bytes));
}
