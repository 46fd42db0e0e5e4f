//! The inputs and outputs of the state machine of the control socket.

use std::sync::Arc;

use trace_protocol::control::{
    ConfigurationInfo, ControlError, KeptSession, Output as ControlOutput, Reply, SessionInfo,
    SnapshotInfo, Summary, ToController, ToDaemon, TraceConfig,
};
use trace_protocol::message::BufferDisposition;
use trace_protocol::socket::PeerCredentials;

use crate::control_server::caller::Caller;
use crate::control_server::event_queue::EventQueue;
use crate::control_server::kept::KeptFile;
use crate::control_server::CategoryGroups;
use crate::foreign::ForeignDescriptor;
use crate::sink::StreamLease;

/// The number of a connection. Numbers are never reused.
pub(in crate::control_server) type ClientId = u64;

/// The number of a session. Numbers are never reused.
pub(in crate::control_server) type SessionId = u64;

/// A request to which the reply is sent later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::control_server) struct Ticket {
    pub(in crate::control_server) client: ClientId,
    /// The request's number.
    pub(in crate::control_server) id: u32,
}

/// An event for the machine.
#[derive(Debug)]
pub(in crate::control_server) enum Input {
    /// A controller connected.
    Connected(ClientId, Caller),
    /// The connection that is added next is that of the daemon itself.
    IsOwn(ClientId),
    /// A session of a killed daemon goes on.
    Restore(Box<OpenRequest>),
    /// A controller sent a request, with its descriptor.
    Request(ClientId, Box<ToDaemon>, Option<ForeignDescriptor>),
    /// A connection ended.
    Disconnected(ClientId),
    /// An event of a session's thread.
    Session(SessionId, SessionEvent),
    /// The categories of the providers of a user, or of all users.
    KnownCategories(Option<u32>, Box<Reply>),
    /// A snapshot of this user was written, or failed.
    SnapshotWritten(u32, Ticket, Result<u64, ControlError>),
    /// A session has started again, with these category patterns if they change, or not.
    StartedAgain(SessionId, Ticket, Result<Option<Vec<String>>, ControlError>),
    /// The category patterns of a session were replaced by these, or not.
    CategoriesSet(SessionId, Ticket, Result<Vec<String>, ControlError>),
    /// The category groups changed.
    Groups(CategoryGroups),
    /// The configuration of this user is used so.
    Configuration(u32, Box<ConfigurationInfo>),
    /// The daemon ends.
    ShutDown,
    /// Time passed.
    Tick,
}

/// An event of a session's thread.
#[derive(Debug)]
pub(in crate::control_server) enum SessionEvent {
    /// The output is open, and programs are being started.
    Opened,
    /// All programs record, or did not reply in time.
    Recording,
    /// The session could not be started.
    NotOpened(ControlError),
    /// A provider raised an alert.
    Alert(String),
    /// A snapshot was written, or failed.
    Snapshot(Box<SnapshotInfo>),
    /// No provider records, and the session can start again.
    Paused,
    /// The session ends, because of a trigger or of its own process.
    Stopping,
    /// The session has ended.
    Ended(Box<Summary>),
}

/// An action for the control thread.
#[derive(Debug)]
pub(in crate::control_server) enum Output {
    /// Send a message.
    Send(ClientId, Box<ToController>),
    /// Reply to several requests.
    Reply(Vec<Ticket>, Box<Reply>),
    /// Close a connection, after its last message is sent.
    Close(ClientId),
    /// Close a connection at once.
    Disconnect(ClientId),
    /// Start a session's thread.
    Open(SessionId, Box<OpenRequest>),
    /// Note that the duration of a session begins. It goes on after a kill of the daemon.
    Begin(SessionId),
    /// Stop a session that may start again.
    Pause(SessionId),
    /// Start a stopped session again, with these category patterns if there are any.
    StartAgain(SessionId, Ticket, BufferDisposition, Option<Vec<String>>),
    /// Stop a session, and end it.
    Stop(SessionId),
    /// Stop a session, and remove its archive.
    Discard(SessionId),
    /// Flush a session's providers.
    Flush(SessionId),
    /// Write a snapshot.
    Snapshot(SessionId, Ticket, SnapshotJob),
    /// Start a live stream.
    Follow(SessionId, Ticket, FollowJob),
    /// Replace the category patterns of a session.
    SetCategories(SessionId, Ticket, Vec<String>),
    /// Reply to a query.
    Query(Ticket, Query),
    /// Request the categories of the providers of this user, or of all users.
    QueryCategories(Option<u32>),
}

/// A session to start.
#[derive(Debug)]
pub(in crate::control_server) struct OpenRequest {
    /// Its configuration, with the categories of groups.
    pub(in crate::control_server) config: TraceConfig,
    /// The output, or its directory; `None` if `earlier` has the path of the directory.
    pub(in crate::control_server) descriptor: Option<ForeignDescriptor>,
    pub(in crate::control_server) caller: Caller,
    pub(in crate::control_server) queue: Arc<EventQueue>,
    /// The part that a killed daemon has written, if there is one.
    pub(in crate::control_server) earlier: Option<(KeptFile, KeptSession)>,
    /// Whether the daemon itself starts it. Its messages in the log are not limited.
    pub(in crate::control_server) is_own: bool,
}

/// A snapshot to write.
#[derive(Debug)]
pub(in crate::control_server) struct SnapshotJob {
    pub(in crate::control_server) output: ControlOutput,
    pub(in crate::control_server) descriptor: ForeignDescriptor,
    /// The controller.
    pub(in crate::control_server) peer: PeerCredentials,
}

/// A live stream to start.
#[derive(Debug)]
pub(in crate::control_server) struct FollowJob {
    pub(in crate::control_server) categories: Vec<String>,
    pub(in crate::control_server) descriptor: ForeignDescriptor,
    /// The controller.
    pub(in crate::control_server) peer: PeerCredentials,
    /// Counts against the limit of the user until it is dropped.
    pub(in crate::control_server) lease: Arc<StreamLease>,
}

/// A query that the machine cannot reply to.
#[derive(Debug, Clone)]
pub(in crate::control_server) enum Query {
    /// The providers of this user, or of all users.
    Providers(Option<u32>),
    /// The statistics of a session.
    Statistics(SessionId),
    /// These sessions. The progress of those that run is missing.
    Sessions(Vec<(SessionId, SessionInfo)>),
}
