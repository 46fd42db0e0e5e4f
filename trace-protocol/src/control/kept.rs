//! The record of a session that goes on after a kill of the daemon.
//!
//! The daemon writes it into a file of its own when the session starts, and removes it when the
//! session ends. The guard appends the time at which it noticed that the daemon was killed. The
//! daemon appends the begin of the session's duration, each stop without results, and the start
//! after it.

use std::time::Duration;

use super::field::{messages, record};
use super::TraceConfig;
use crate::error::ProtocolError;
use crate::message::{decode_all, encode_message, Decoder, Message};

record! {
    /// A session that goes on after a kill of the daemon.
    pub struct KeptSession {
        /// Its configuration, with the categories of groups. The output is that of the first part.
        pub config: TraceConfig,
        /// The user of its controller.
        pub uid: u32,
        /// The group of its controller.
        pub gid: u32,
        /// Whether it records the programs of all users.
        pub all_users: bool,
        /// The path of the directory of its output.
        pub directory: String,
        /// The device of the directory.
        pub device: u64,
        /// The inode of the directory.
        pub inode: u64,
        /// The number of the part that is written, from 1 on.
        pub part: u64,
        /// The start of the session, since the start of the machine.
        pub started: Duration,
        /// The kernel's id of the time since the start of the machine.
        pub boot: String,
    }
}

messages! {
    /// An item of the file of a session.
    #[allow(clippy::large_enum_variant, reason = "few exist at a time")]
    pub enum KeptItem {
        /// The session.
        Session(session: KeptSession) = 0x401,
        /// The guard noticed the end of the daemon at this time since the start of the machine.
        Ended(at: Duration) = 0x402,
        /// The session stopped without its results at this time since the start of the machine.
        Paused(at: Duration) = 0x403,
        /// It started again.
        StartedAgain = 0x404,
        /// The session's duration began at this time since the start of the machine.
        Began(at: Duration) = 0x405,
    }
}

impl KeptItem {
    /// Encodes the item.
    pub fn encode(&self) -> Vec<u8> {
        encode_message(self.kind(), |body| self.write(body))
    }

    /// Decodes the items of a file. Malformed ones are left out.
    pub fn decode_all(untrusted: &[u8]) -> Vec<Self> {
        let mut decoder = Decoder::new();
        decoder.feed(untrusted);
        std::iter::from_fn(|| decoder.next_message()).map_while(Result::ok).collect()
    }
}

impl Message for KeptItem {
    fn decode_body(kind: u16, untrusted: &[u8]) -> Result<Self, ProtocolError> {
        if !Self::has_kind(kind) {
            return Err(ProtocolError::UnknownKind(kind));
        }
        decode_all(kind, untrusted, |body| Self::read(kind, body))
    }
}
