//! Messages between a controller and the daemon, over the control socket.
//!
//! A *controller* is a program that starts and stops sessions, such as `trace start`. The messages
//! have the head and the field encodings of [`crate::message`], and the same [`Decoder`]. A body
//! begins with the request's number (u32), which the reply repeats. Events have the number 0.
//!
//! ```text
//!  controller                                  daemon
//!     | ---- Initialize + descriptor ----------> |
//!     | <--- Initialized{name} ----------------- |
//!     | ---- Start{name} ----------------------> |
//!     | <--- Started --------------------------- |
//!     | <--- event Alert ----------------------- |   if the controller watches the session
//!     | ---- Stop{name} -----------------------> |
//!     | <--- Stopped{summary} ------------------ |
//! ```
//!
//! Replies to different requests may have another order than the requests. This module does no
//! I/O. Bytes of the other process are hostile, in both directions: a body has at most
//! [`MAX_BODY`](crate::message::MAX_BODY) bytes, and a decoded list takes memory for the items that
//! it has, not for its count.
//!
//! [`Decoder`]: crate::message::Decoder

mod config;
mod error;
mod field;
mod info;
mod kept;
mod reply;
mod request;
mod summary;
#[cfg(test)]
mod tests;

pub use config::{
    check_categories, Output, ProviderFilter, ProviderSpec, RotationOptions, SnapshotOptions,
    TraceConfig, TriggerAction, TriggerSpec, MAX_CATEGORY, MAX_NAME, MAX_SESSION_NAME,
};
pub use error::{ControlError, ErrorCode, FlushError, GeneralError, StartError, StopError};
pub use info::{
    ConfigurationInfo, ConfiguredFailure, GroupInfo, KnownCategory, ProviderInfo,
    ProviderStatistics, SessionInfo, SessionState,
};
pub use kept::{KeptItem, KeptSession};
pub use reply::{Event, Part, Parts, Reply, ToController, MAX_REPLY};
pub use request::{
    CategoryChange, FollowRequest, Request, SnapshotRequest, StartRequest, StopRequest,
    TerminateRequest, ToDaemon,
};
pub use summary::{
    ArchiveFailure, CompanionResult, EndKind, ProviderResult, RefusalInfo, SnapshotInfo, Summary,
};

/// The file name of the control socket, in the folder of the registration socket.
pub const CONTROL_SOCKET: &str = "control.sock";

/// The number of events, which no request has.
pub const EVENT: u32 = 0;
