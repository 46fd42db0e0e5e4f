//! The results of a daemon's session as those of an own one.

use std::io;
use std::path::PathBuf;

use trace_format::notes::Omission;
use trace_protocol::buffer::consumer::Rejection;
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::control::{EndKind, ProviderResult, RefusalInfo, SnapshotInfo, Summary};

use crate::error::{ArchiveError, ManagerError};
use crate::machine::{End, Violation};
use crate::summary::{ProviderSummary, Refusal, SessionSummary, SnapshotSummary};
use crate::trigger::Cause;

impl From<Summary> for SessionSummary {
    /// Returns the results of a daemon's session as those of an own one.
    fn from(of: Summary) -> Self {
        Self {
            duration: of.duration,
            providers: of.providers.into_iter().map(ProviderSummary::from).collect(),
            refused: of
                .refused
                .into_iter()
                .map(|RefusalInfo { pid, name, reason }| Refusal { pid, name, reason })
                .collect(),
            refusals: of.refusals,
            alerts: of.alerts.into_iter().collect(),
            conditions: of.conditions.into_iter().collect(),
            unknown_conditions: of.unknown_conditions,
            stopped_by: Cause::either(of.stopped_by, of.stopped_by_condition),
            incomplete_conditions: of.incomplete_conditions,
            late_conditions: of.late_conditions,
            snapshots: of.snapshots.into_iter().map(SnapshotSummary::from).collect(),
            snapshots_removed: of.snapshots_removed,
            categories: of.categories,
            archive: match of.failure {
                None => Ok(of.bytes),
                Some(failure) => Err(ArchiveError {
                    source: io::Error::other(failure.reason),
                    bytes: failure.bytes,
                    kept: failure.kept.map(PathBuf::from),
                    is_part: failure.is_part,
                    unwritten: failure.unwritten,
                }),
            },
            parts: of.parts.into_iter().map(PathBuf::from).collect(),
            parts_removed: of.parts_removed,
            backup: of.backup.map(PathBuf::from),
            sinks: Vec::new(),
            guard_failure: of.guard_failure,
        }
    }
}

impl From<SnapshotInfo> for SnapshotSummary {
    fn from(of: SnapshotInfo) -> Self {
        Self {
            path: of.path.into(),
            causes: Cause::join(of.alerts, of.conditions),
            archive: of.error.map_or(Ok(of.bytes), |error| Err(ManagerError::Reported(error))),
        }
    }
}

impl From<ProviderResult> for ProviderSummary {
    fn from(of: ProviderResult) -> Self {
        let omission = |(what, number): (u8, u64)| {
            Omission::ALL.get(usize::from(what)).map(|what| (*what, number))
        };
        let rejection = |(why, number): (u8, u64)| {
            Rejection::ALL.get(usize::from(why)).map(|why| (*why, number))
        };
        let loss = |(why, number): (u8, u64)| {
            LossReason::ALL.get(usize::from(why)).map(|why| (*why, number))
        };
        Self {
            id: of.id,
            pid: of.pid,
            uid: of.uid,
            name: of.name,
            records: of.records,
            events: of.events,
            others: of.others,
            bytes: of.bytes,
            dropped: of.dropped,
            omitted: of.omitted.into_iter().filter_map(omission).collect(),
            rejected: of.rejected.into_iter().filter_map(rejection).collect(),
            categories: of.categories.into_iter().collect(),
            known_categories: of.known_categories,
            open_scopes: of.open_scopes,
            overwritten: of.overwritten,
            joined_after: of.joined_after,
            left_after: of.left_after,
            answered_start: of.answered_start,
            answered_stop: of.answered_stop,
            buffer_size: of.buffer_size,
            wrapped_count: of.wrapped_count,
            dropped_by_reason: of.dropped_by_reason.into_iter().filter_map(loss).collect(),
            durable_used: of.durable_used,
            durable_size: of.durable_size,
            end: end_of(of.end, of.violation),
        }
    }
}

/// Returns how a provider left a session, by the fields of its [`ProviderResult`] or its
/// [`ProviderStatistics`](trace_protocol::control::ProviderStatistics).
pub fn end_of(kind: EndKind, violation: String) -> End {
    let ignores_data = kind == EndKind::OtherVersion;
    match kind {
        EndKind::Terminated => End::Terminated,
        EndKind::TimedOut => End::TimedOut,
        EndKind::Disconnected => End::Disconnected,
        EndKind::CutOff | EndKind::OtherVersion => {
            End::CutOff(Violation::Reported { text: violation, ignores_data })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::control_server::convert;
    use crate::fixture::provider_summary;

    fn snapshots() -> Vec<SnapshotSummary> {
        let both = [Cause::Alert("slow".to_owned()), Cause::Condition("drop".to_owned())];
        let failed = ManagerError::Reported("no space".to_owned());
        vec![
            SnapshotSummary { path: "/a/1.fxt".into(), causes: both.to_vec(), archive: Ok(4096) },
            SnapshotSummary { path: "/a/2.fxt".into(), causes: Vec::new(), archive: Err(failed) },
        ]
    }

    fn summary(archive: Result<u64, ArchiveError>) -> SessionSummary {
        let ends = [End::Terminated, End::TimedOut, End::Disconnected];
        SessionSummary {
            duration: Duration::from_millis(1500),
            providers: ends.into_iter().map(provider_summary).collect(),
            refused: vec![Refusal { pid: 7, name: "big".into(), reason: "no memory".into() }],
            refusals: 3,
            alerts: [("slow".to_owned(), 2)].into(),
            unknown_conditions: vec!["duration:a/b>1s".to_owned()],
            conditions: [("drop".to_owned(), 1)].into(),
            stopped_by: Some(Cause::Condition("drop".to_owned())),
            incomplete_conditions: vec!["log:error".to_owned()],
            late_conditions: vec!["duration:a/c>1s".to_owned()],
            snapshots: snapshots(),
            snapshots_removed: 1,
            categories: vec!["web".to_owned()],
            archive,
            parts: vec!["/a/b.1.fxt".into()],
            parts_removed: 6,
            backup: Some("a.fxt.old".into()),
            sinks: Vec::new(),
            guard_failure: Some("it has ended".to_owned()),
        }
    }

    /// A summary is the same behind the socket.
    #[test]
    fn a_summary_survives_the_protocol() {
        let failed = || {
            let kept = Some("/a/.b.2.fxt.partial".into());
            let error = ArchiveError::new(io::Error::other("no space"), 4096, kept);
            ArchiveError { is_part: true, unwritten: 7, ..error }
        };
        for is_written in [true, false] {
            let archive = || if is_written { Ok(4096) } else { Err(failed()) };
            let sent = convert::summary(&summary(archive()), "a.fxt".to_owned());
            let received = SessionSummary::from(sent);
            assert_eq!(format!("{received:?}"), format!("{:?}", summary(archive())));
        }
    }

    #[test]
    fn violations_keep_their_text() {
        for violation in [Violation::Flood, Violation::PacketVersion(2)] {
            let end = End::CutOff(violation.clone());
            let received = ProviderSummary::from(convert::result(provider_summary(end.clone())));
            assert_eq!(received.end.to_string(), end.to_string());
            assert_eq!(received.end.ignores_data(), end.ignores_data());
        }
    }
}
