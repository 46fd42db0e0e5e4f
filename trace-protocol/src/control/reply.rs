//! Messages from the daemon to a controller.

use super::field::{messages, record};
use super::{
    ConfigurationInfo, ControlError, GroupInfo, KnownCategory, ProviderInfo, ProviderStatistics,
    SessionInfo, SessionState, SnapshotInfo, Summary, EVENT,
};
use crate::error::ProtocolError;
use crate::message::body::BodyWriter;
use crate::message::{decode_all, encode_message, Message, MAX_BODY};

/// A reply, with the number of its request, or an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToController {
    /// The request's number; [`EVENT`](super::EVENT) for events.
    pub id: u32,
    /// The reply or event.
    pub reply: Reply,
}

messages! {
    /// A reply of the daemon.
    #[allow(clippy::large_enum_variant, reason = "few exist at a time")]
    pub enum Reply {
        /// The request failed.
        Failed(error: ControlError) = 0x300,
        /// The registered providers that the controller may record.
        Providers(providers: Vec<ProviderInfo>) = 0x301,
        /// The categories of these providers.
        KnownCategories(categories: Vec<KnownCategory>) = 0x302,
        /// The category groups.
        Groups(groups: Vec<GroupInfo>) = 0x303,
        /// The sessions of the controller's user; for root, those of all users.
        Sessions(sessions: Vec<SessionInfo>) = 0x304,
        /// The session with this name is initialized.
        Initialized(name: String) = 0x305,
        /// The session has started.
        Started = 0x306,
        /// The session has stopped, and its results are written.
        Stopped(summary: Summary) = 0x307,
        /// A session that had not started has ended.
        Terminated = 0x308,
        /// The providers were requested to flush.
        Flushed = 0x309,
        /// A snapshot of this number of bytes is written.
        Snapshot(bytes: u64) = 0x30a,
        /// The statistics of a session's providers.
        Statistics(providers: Vec<ProviderStatistics>) = 0x30b,
        /// Events of the session follow.
        Watching = 0x30c,
        /// A part of a reply that is longer than a message.
        Part(part: Part) = 0x30d,
        /// The stream of the session has begun.
        Following = 0x30e,
        /// The categories of the session have changed to these patterns.
        CategoriesChanged(categories: Vec<String>) = 0x30f,
        /// A session has a new state.
        StateChanged(event: Event) = 0x310,
        /// A provider raised the alert with this name.
        Alert(event: (Event, String)) = 0x311,
        /// The daemon closes the connection, for this reason.
        Closing(reason: String) = 0x312,
        /// The session has stopped, and can start again.
        Paused = 0x313,
        /// A snapshot of the session was written, or failed.
        SnapshotTaken(event: (Event, SnapshotInfo)) = 0x314,
        /// The use of the configuration. That of another user's daemon has no reasons.
        Configuration(configuration: ConfigurationInfo) = 0x315,
    }
}

record! {
    /// An event of a session.
    pub struct Event {
        /// The session's name.
        pub session: String,
        /// Its state.
        pub state: SessionState,
    }
}

record! {
    /// A part of a reply. The others have the same number, and follow each other.
    pub struct Part {
        /// The kind of the reply.
        pub kind: u32,
        /// Whether it is the last part.
        pub is_last: bool,
        /// Bytes of the reply's fields.
        pub bytes: Vec<u8>,
    }
}

/// The longest reply in parts, in bytes. Items of a list that exceed it are left out.
pub const MAX_REPLY: usize = 6 << 20;

/// The bytes of a part.
const PART: usize = 512 << 10;

/// Joins the parts of replies.
#[derive(Debug, Default)]
pub struct Parts {
    bytes: Vec<u8>,
}

impl Parts {
    /// Takes a message. Returns the reply if it is complete.
    ///
    /// # Errors
    ///
    /// If the parts are longer than [`MAX_REPLY`], or together no reply.
    pub fn join(&mut self, message: ToController) -> Result<Option<ToController>, ProtocolError> {
        let Reply::Part(Part { kind, is_last, bytes }) = message.reply else {
            return Ok(Some(message));
        };
        let length = self.bytes.len() + bytes.len();
        if length > MAX_REPLY {
            return Err(ProtocolError::BodyTooLong { length: length as u32 });
        }
        self.bytes.extend_from_slice(&bytes);
        if !is_last {
            return Ok(None);
        }
        let bytes = std::mem::take(&mut self.bytes);
        let kind = u16::try_from(kind).unwrap_or(0);
        let reply = decode_all(kind, &bytes, |body| Reply::read(kind, body))?;
        Ok(Some(ToController { id: message.id, reply }))
    }
}

impl ToController {
    /// Encodes the message, in parts if it is longer than a message.
    pub fn encode_in_parts(&self) -> Vec<u8> {
        let mut body = BodyWriter::with_limit(MAX_REPLY);
        self.reply.write(&mut body);
        let fields = body.body();
        if fields.len() + size_of_val(&self.id) <= MAX_BODY as usize {
            return self.encode();
        }
        let parts = fields.chunks(PART);
        let last = parts.len().saturating_sub(1);
        let part = |(index, bytes): (usize, &[u8])| {
            let kind = u32::from(self.reply.kind());
            let part = Part { kind, is_last: index == last, bytes: bytes.to_vec() };
            Self { id: self.id, reply: Reply::Part(part) }.encode()
        };
        parts.enumerate().flat_map(part).collect()
    }

    /// Encodes the message. Items of a list that exceed the longest body are left out.
    pub fn encode(&self) -> Vec<u8> {
        encode_message(self.reply.kind(), |body| {
            body.u32(self.id);
            self.reply.write(body);
        })
    }
}

impl Message for ToController {
    fn decode_body(kind: u16, untrusted: &[u8]) -> Result<Self, ProtocolError> {
        if !Reply::has_kind(kind) {
            let is_event = untrusted.starts_with(&EVENT.to_le_bytes());
            return Err(match is_event {
                true => ProtocolError::UnknownEvent(kind),
                false => ProtocolError::UnknownKind(kind),
            });
        }
        decode_all(kind, untrusted, |body| {
            Some(Self { id: body.u32()?, reply: Reply::read(kind, body)? })
        })
    }
}
