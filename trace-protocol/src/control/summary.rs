//! The results of a session.

use std::time::Duration;

use super::field::{codes, record};

record! {
    /// The results of a session. Lists of providers, refusals and snapshots may lack their last
    /// items if the message would be too long.
    pub struct Summary {
        /// The session's name.
        pub session: String,
        /// Its output, for people.
        pub output: String,
        /// The time from its start to its end.
        pub duration: Duration,
        /// The configured category patterns.
        pub categories: Vec<String>,
        /// The number of times that each alert was raised.
        pub alerts: Vec<(String, u64)>,
        /// The number of times that each other condition of a trigger began to hold.
        pub conditions: Vec<(String, u64)>,
        /// The conditions of triggers whose category and name no program has.
        pub unknown_conditions: Vec<String>,
        /// The conditions of triggers of which some records were not compared.
        pub incomplete_conditions: Vec<String>,
        /// The conditions on durations that were evaluated when a program or the recording ended.
        pub late_conditions: Vec<String>,
        /// The alert that stopped it.
        pub stopped_by: Option<String>,
        /// The other condition that stopped it.
        pub stopped_by_condition: Option<String>,
        /// The archive's size in bytes.
        pub bytes: u64,
        /// The error of the archive, if it is incomplete.
        pub failure: Option<ArchiveFailure>,
        /// Why the guard would not have completed the archive, if it was given up.
        pub guard_failure: Option<String>,
        /// The paths of the newest 100 parts of the archive that exist, if it is cut.
        pub parts: Vec<String>,
        /// The number of parts that were removed because of the limit.
        pub parts_removed: u64,
        /// The path of the earlier archive of its name, if there was one.
        pub backup: Option<String>,
        /// The number of snapshots of alerts that were removed because of the limits.
        pub snapshots_removed: u64,
        /// The number of all refusals.
        pub refusals: u64,
        /// The first refused providers.
        pub refused: Vec<RefusalInfo>,
        /// The results of its companion, if it has one.
        pub companion: Option<CompanionResult>,
        /// The snapshots of alerts.
        pub snapshots: Vec<SnapshotInfo>,
        /// The providers, in the order of joining.
        pub providers: Vec<ProviderResult>,
    }
}

record! {
    /// The results of the process that recorded the kernel's events for a session.
    #[derive(Copy)]
    pub struct CompanionResult {
        /// Whether it recorded all selected data until the end.
        pub is_complete: bool,
        /// The number of scheduling records, which have no category.
        pub scheduling: u64,
        /// The number of samples of call stacks, which have no category.
        pub samples: u64,
        /// The number of lines of the kernel's log, which have no category.
        pub logs: u64,
        /// The least number of events that the kernel dropped.
        pub dropped: u64,
        /// The number of samples that the CPU lost.
        pub lost_samples: u64,
        /// The number of pauses of sampling.
        pub throttled: u64,
    }
}

record! {
    /// The error of an incomplete archive.
    pub struct ArchiveFailure {
        /// The error.
        pub reason: String,
        /// Bytes of complete records before the error; in that part if the archive is cut.
        pub bytes: u64,
        /// The path of the file with these records, if it can be read.
        pub kept: Option<String>,
        /// Whether it is a part of an archive that is cut.
        pub is_part: bool,
        /// The number of records that are not written. Names and metadata do not count.
        pub unwritten: u64,
    }
}

record! {
    /// A provider that was not recorded.
    pub struct RefusalInfo {
        /// Its process.
        pub pid: u32,
        /// Its name.
        pub name: String,
        /// The reason.
        pub reason: String,
    }
}

record! {
    /// A snapshot.
    pub struct SnapshotInfo {
        /// Its path.
        pub path: String,
        /// The alerts that caused it.
        pub alerts: Vec<String>,
        /// The other conditions that caused it.
        pub conditions: Vec<String>,
        /// Its size in bytes.
        pub bytes: u64,
        /// The error, if it was not written.
        pub error: Option<String>,
    }
}

record! {
    /// The results of one provider.
    pub struct ProviderResult {
        /// Its number in the archive.
        pub id: u32,
        /// Its process, from the kernel.
        pub pid: u32,
        /// Its user, from the kernel.
        pub uid: u32,
        /// Its name.
        pub name: String,
        /// The size of its buffer in bytes.
        pub buffer_size: u64,
        /// The number of switches of its rolling buffer, as it reports.
        pub wrapped_count: u32,
        /// Dropped records, as it reports: reason and number. The reasons are the values of
        /// [`LossReason`](crate::buffer::producer::LossReason).
        pub dropped_by_reason: Vec<(u8, u64)>,
        /// Bytes of its durable buffer in use.
        pub durable_used: u64,
        /// The size of its durable buffer in bytes.
        pub durable_size: u64,
        /// Rolling buffers that were overwritten, in circular mode.
        pub overwritten: u32,
        /// Records dropped because its buffer was full.
        pub dropped: u64,
        /// Records in the archive, except those of the manager.
        pub records: u64,
        /// Event records among them.
        pub events: u64,
        /// Records of other types among them, but not names and strings.
        pub others: u64,
        /// Bytes in the archive.
        pub bytes: u64,
        /// Missing data other than dropped records: kind and number. The kinds are the values of
        /// [`Omission`](trace_format::notes::Omission).
        pub omitted: Vec<(u8, u64)>,
        /// Refused records: reason and number. The reasons are the values of
        /// [`Rejection`](crate::buffer::consumer::Rejection).
        pub rejected: Vec<(u8, u64)>,
        /// Events by category.
        pub categories: Vec<(String, u64)>,
        /// Categories that it announced.
        pub known_categories: Vec<String>,
        /// Scopes with a begin and without an end.
        pub open_scopes: u64,
        /// Time from the session's start until it joined.
        pub joined_after: Duration,
        /// Time from the session's start until it left.
        pub left_after: Duration,
        /// Whether it replied to Start.
        pub answered_start: bool,
        /// Whether it replied to Stop.
        pub answered_stop: bool,
        /// How its session ended.
        pub end: EndKind,
        /// The violation, if it was cut off.
        pub violation: String,
    }
}

codes! {
    /// How a provider's session ended.
    #[derive(Default)]
    pub enum EndKind {
        /// It terminated on request, or had stopped before.
        #[default]
        Terminated = 1,
        /// It did not reply in time.
        TimedOut = 2,
        /// Its process ended, or closed its sockets.
        Disconnected = 3,
        /// It violated the protocol.
        CutOff = 4,
        /// It uses another version of the packet protocol, so its data was ignored.
        OtherVersion = 5,
    }
}
