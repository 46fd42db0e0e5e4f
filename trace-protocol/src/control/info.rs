//! Descriptions of providers, categories and sessions.

use std::fmt;
use std::time::Duration;

use super::field::{codes, record};
use super::summary::{EndKind, RefusalInfo};
use crate::message::ClockSource;
use crate::mode::BufferingMode;

record! {
    /// A registered provider.
    pub struct ProviderInfo {
        /// The manager's number of it.
        pub id: u32,
        /// Its process, from the kernel.
        pub pid: u32,
        /// Its user, from the kernel.
        pub uid: u32,
        /// Its name.
        pub name: String,
        /// The name of its process.
        pub process_name: String,
        /// When it connected: the time since the start of 1970, UTC.
        pub registered: Duration,
        /// The clock of its ticks.
        pub clock: ClockSource,
    }
}

record! {
    /// A category that registered providers have.
    pub struct KnownCategory {
        /// The category's name.
        pub name: String,
        /// The first description that is not empty.
        pub description: String,
        /// The number of providers that have it.
        pub providers: u32,
    }
}

record! {
    /// The statistics of a provider in a running session, also of one that has left.
    pub struct ProviderStatistics {
        /// Its number in the archive.
        pub id: u32,
        /// Its process, from the kernel.
        pub pid: u32,
        /// Its name.
        pub name: String,
        /// The number of switches of its rolling buffer, as it reports.
        pub wrapped_count: u32,
        /// Dropped records, as it reports: reason and number. The reasons are the values of
        /// [`LossReason`](crate::buffer::producer::LossReason).
        pub dropped: Vec<(u8, u64)>,
        /// Bytes of its durable buffer in use.
        pub durable_used: u64,
        /// The size of its durable buffer in bytes.
        pub durable_size: u64,
        /// The size of its buffer in bytes.
        pub buffer_size: u64,
        /// Its events so far. Those in its buffer are counted at most once a second.
        pub events: u64,
        /// Its bytes in the session's archive so far.
        pub bytes: u64,
        /// Whether it has answered the start.
        pub answered_start: bool,
        /// How it left the session, if it has.
        pub end: Option<EndKind>,
        /// The violation, if it was cut off.
        pub violation: String,
    }
}

record! {
    /// A category group of the daemon's configuration.
    pub struct GroupInfo {
        /// Its name, without `#`.
        pub name: String,
        /// Its category patterns.
        pub categories: Vec<String>,
    }
}

record! {
    /// The use of the daemon's configuration.
    pub struct ConfigurationInfo {
        /// Whether the start of each of its sessions has succeeded or failed.
        pub is_complete: bool,
        /// Why the file as it is now is not used, if it is not.
        pub refused: Option<String>,
        /// Its sessions that could not start.
        pub failures: Vec<ConfiguredFailure>,
    }
}

record! {
    /// A session of the configuration that could not start.
    pub struct ConfiguredFailure {
        /// Its name.
        pub session: String,
        /// The reason.
        pub reason: String,
    }
}

record! {
    /// A session.
    pub struct SessionInfo {
        /// Its name.
        pub name: String,
        /// The user that initialized it.
        pub uid: u32,
        /// Its state.
        pub state: SessionState,
        /// Whether it continues when the controller's connection ends.
        pub detached: bool,
        /// Its buffering mode.
        pub mode: BufferingMode,
        /// The size of each provider's buffer in bytes.
        pub buffer_size: u64,
        /// Its category patterns.
        pub categories: Vec<String>,
        /// Its output, for people.
        pub output: String,
        /// The time since its start.
        pub elapsed: Duration,
        /// Programs that are in it now: providers without the session's own helper.
        pub providers: u64,
        /// Programs that have joined it so far. After its end, all providers that have: also the
        /// session's own helper.
        pub joined: u64,
        /// Events collected so far.
        pub events: u64,
        /// Bytes of the archive written so far.
        pub bytes: u64,
        /// Records dropped so far.
        pub lost: u64,
        /// The number of refused programs so far.
        pub refusals: u64,
        /// The last of them. After its end, the last of those in its results.
        pub last_refusal: Option<RefusalInfo>,
        /// The error of the archive, if it has one.
        pub failure: Option<String>,
        /// Why the guard would not complete the archive, if it was given up.
        pub guard_failure: Option<String>,
    }
}

codes! {
    /// The state of a session. The values up to 7 are Fuchsia's.
    #[derive(Default)]
    pub enum SessionState {
        /// There is no session.
        #[default]
        Ready = 1,
        /// It has not started.
        Initialized = 2,
        /// Some provider has not replied to Start.
        Starting = 3,
        /// It records.
        Started = 4,
        /// It ends: some provider has not replied to Stop, or its output is not written.
        Stopping = 5,
        /// It has ended, and its results are kept.
        Stopped = 6,
        /// It is aborted.
        Terminating = 7,
        /// It stops, and can start again: some provider has not replied to Stop.
        Pausing = 8,
        /// It does not record, and can start again.
        Paused = 9,
        /// It is removed: its results were taken or forgotten, it has none, or its start failed.
        Terminated = 10,
    }
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ready => "ready",
            Self::Initialized => "initialized",
            Self::Starting => "starting",
            Self::Started => "started",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Terminating => "terminating",
            Self::Pausing => "pausing",
            Self::Paused => "paused",
            Self::Terminated => "terminated",
        })
    }
}
