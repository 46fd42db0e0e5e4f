//! Messages from a controller to the daemon.

use super::config::check_categories;
use super::field::{messages, record};
use super::{Output, TraceConfig};
use crate::error::ProtocolError;
use crate::message::{decode_all, encode_message, BufferDisposition, Message};

/// A request, with the number that its reply repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToDaemon {
    /// The request's number; not 0.
    pub id: u32,
    /// The request.
    pub request: Request,
}

messages! {
    /// A request of a controller.
    #[allow(clippy::large_enum_variant, reason = "few exist at a time")]
    pub enum Request {
        /// Requests the registered providers.
        GetProviders = 0x201,
        /// Requests the categories of the registered providers.
        GetKnownCategories = 0x202,
        /// Requests the category groups of the daemon's configuration.
        GetGroups = 0x203,
        /// Requests the sessions.
        GetSessions = 0x204,
        /// Creates a session. One descriptor is sent with it.
        Initialize(config: TraceConfig) = 0x205,
        /// Starts a session.
        Start(start: StartRequest) = 0x206,
        /// Stops a session.
        Stop(stop: StopRequest) = 0x207,
        /// Ends a session in any state. Its name is free again.
        Terminate(terminate: TerminateRequest) = 0x208,
        /// Makes providers in streaming mode send their records so far.
        Flush(session: String) = 0x209,
        /// Writes a snapshot. One descriptor is sent with it.
        Snapshot(snapshot: SnapshotRequest) = 0x20a,
        /// Requests the statistics of a session's providers.
        GetStatistics(session: String) = 0x20b,
        /// Subscribes to the events of a session.
        Watch(session: String) = 0x20c,
        /// Streams the records of a session from now on. One descriptor is sent with it: a pipe or
        /// a socket.
        Follow(follow: FollowRequest) = 0x20d,
        /// Changes the categories of a session that records.
        ChangeCategories(change: CategoryChange) = 0x20e,
        /// Requests the use of the daemon's configuration.
        GetConfiguration = 0x20f,
    }
}

record! {
    /// The parameters of a start.
    pub struct StartRequest {
        /// The session's name.
        pub session: String,
        /// The treatment of records that are in the buffers. By default, they are retained.
        pub disposition: BufferDisposition,
        /// Category patterns in addition to those of the configuration.
        pub additional_categories: Vec<String>,
    }
}

record! {
    /// The parameters of a stop.
    pub struct StopRequest {
        /// The session's name.
        pub session: String,
        /// Whether the session ends and its results are written. Otherwise it can start again.
        pub write_results: bool,
    }
}

record! {
    /// The parameters of an end.
    pub struct TerminateRequest {
        /// The session's name.
        pub session: String,
        /// Whether the results are written. Otherwise the session is aborted, and a new archive is
        /// removed.
        pub write_results: bool,
    }
}

record! {
    /// The parameters of a snapshot.
    pub struct SnapshotRequest {
        /// The session's name.
        pub session: String,
        /// The meaning of the descriptor.
        pub output: Output,
    }
}

record! {
    /// The parameters of a live stream.
    pub struct FollowRequest {
        /// The session's name.
        pub session: String,
        /// Category patterns of the events in the stream. An empty list selects all.
        pub categories: Vec<String>,
    }
}

record! {
    /// A change of the categories of a session. Groups are permitted.
    pub struct CategoryChange {
        /// The session's name.
        pub session: String,
        /// Category patterns to add.
        pub add: Vec<String>,
        /// Category patterns to remove.
        pub remove: Vec<String>,
    }
}

impl Request {
    /// Returns the number of descriptors that are sent with the request.
    pub fn descriptors(&self) -> usize {
        usize::from(matches!(self, Self::Initialize(_) | Self::Snapshot(_) | Self::Follow(_)))
    }
}

impl StartRequest {
    /// Checks the number and the lengths of the category patterns.
    ///
    /// # Errors
    ///
    /// The limit that is exceeded.
    pub fn check(&self) -> Result<(), String> {
        check_categories(&self.additional_categories)
    }
}

impl ToDaemon {
    /// Encodes the message. Items of a list that exceed the longest body are left out.
    pub fn encode(&self) -> Vec<u8> {
        encode_message(self.request.kind(), |body| {
            body.u32(self.id);
            self.request.write(body);
        })
    }
}

impl Message for ToDaemon {
    fn decode_body(kind: u16, untrusted: &[u8]) -> Result<Self, ProtocolError> {
        if !Request::has_kind(kind) {
            return Err(ProtocolError::UnknownKind(kind));
        }
        decode_all(kind, untrusted, |body| {
            Some(Self { id: body.u32()?, request: Request::read(kind, body)? })
        })
    }
}
