//! The manager's values as those of the control protocol.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use trace_protocol::buffer::producer::LossReason;
use trace_protocol::control::{
    self, ArchiveFailure, EndKind, KnownCategory, ProviderResult, RefusalInfo, SnapshotInfo,
    Summary, TraceConfig,
};

use super::caller::Caller;
use super::triggers::{rules, trigger_users};
use crate::config::{Rotation, SessionConfig};
use crate::error::ArchiveError;
use crate::machine::{End, ProviderFilter, ProviderSpec, Timeouts, Trigger, TriggerAction};
use crate::query::{Categories, ProviderInfo, ProviderStatistics};
use crate::snapshot_rotation::SnapshotLimits;
use crate::summary::{ProviderSummary, Refusal, SessionSummary, SnapshotSummary};
use crate::trigger::{Cause, TriggerUser};

/// The number of parts of an archive in a summary.
const MAX_PARTS: usize = 100;

/// Returns the times to wait for providers.
pub(super) fn timeouts(config: &TraceConfig) -> Timeouts {
    let timeouts = Timeouts::default();
    Timeouts {
        start: or(config.start_timeout, timeouts.start),
        stop: or(config.stop_timeout, timeouts.stop),
        ..timeouts
    }
}

/// Returns a time, or a default for zero.
fn or(value: Duration, default: Duration) -> Duration {
    if value.is_zero() {
        default
    } else {
        value
    }
}

/// Returns the manager's configuration of a session of this controller. Zero stands for a default.
pub(super) fn session_config(config: &TraceConfig, caller: Caller) -> SessionConfig {
    let snapshots = SnapshotLimits::default();
    let mut session = SessionConfig {
        mode: config.mode,
        buffer_size: config.buffer_size,
        categories: Vec::new(),
        providers: config.providers.iter().map(provider_spec).collect(),
        timeouts: timeouts(config),
        triggers: config.triggers.iter().map(trigger).collect(),
        rules: rules(config),
        program_deaths: true,
        trigger_users: TriggerUser::ids(&trigger_users(config), caller.peer.uid),
        snapshots: SnapshotLimits {
            keep: match config.snapshots.keep {
                0 => snapshots.keep,
                keep => keep,
            },
            min_interval: or(config.snapshots.min_interval, snapshots.min_interval),
            max_size: match config.snapshots.max_size {
                0 => u64::MAX,
                size => size,
            },
        },
        rotation: config.rotation.is_cut().then(|| rotation(&config.rotation)),
        only: ProviderFilter { ids: config.only.ids.clone(), names: config.only.names.clone() },
        user: caller.programs_of(),
        companion: None,
        interrupted_at: None,
        function_records: false,
        shared: config.shared,
    };
    session.select(&config.categories);
    session
}

fn provider_spec(spec: &control::ProviderSpec) -> ProviderSpec {
    ProviderSpec {
        name: spec.name.clone(),
        buffer_size: (spec.buffer_size != 0).then_some(spec.buffer_size),
        categories: spec.categories.clone(),
    }
}

fn rotation(options: &control::RotationOptions) -> Rotation {
    Rotation {
        size: Some(options.size).filter(|size| *size != 0),
        interval: Some(options.interval).filter(|interval| !interval.is_zero()),
        keep: Some(options.keep).filter(|keep| *keep != 0),
    }
}

fn trigger(trigger: &control::TriggerSpec) -> Trigger {
    let action = match trigger.action {
        control::TriggerAction::Stop => TriggerAction::Stop,
        control::TriggerAction::Snapshot => TriggerAction::Snapshot,
    };
    Trigger { alert: trigger.alert.clone(), action }
}

pub(super) fn provider(info: ProviderInfo) -> control::ProviderInfo {
    let registered = info.registered.duration_since(SystemTime::UNIX_EPOCH);
    control::ProviderInfo {
        id: info.id,
        pid: info.pid,
        uid: info.uid,
        name: info.name,
        process_name: info.process_name,
        registered: registered.unwrap_or_default(),
        clock: info.clock,
    }
}

/// Merges the categories of providers, in the order of names.
pub(super) fn known_categories(announced: &[Categories]) -> Vec<KnownCategory> {
    let mut merged = BTreeMap::<&str, KnownCategory>::new();
    for category in announced.iter().flat_map(|categories| &**categories) {
        let known = merged.entry(&category.name).or_default();
        known.providers += 1;
        if known.description.is_empty() {
            known.description.clone_from(&category.description);
        }
    }
    let named = |(name, known): (&str, _)| KnownCategory { name: name.to_owned(), ..known };
    merged.into_iter().map(named).collect()
}

fn losses(of: Vec<(LossReason, u64)>) -> Vec<(u8, u64)> {
    of.into_iter().map(|(reason, number)| (reason as u8, number)).collect()
}

pub(super) fn statistics(of: ProviderStatistics) -> control::ProviderStatistics {
    control::ProviderStatistics {
        id: of.id,
        pid: of.pid,
        name: of.name,
        wrapped_count: of.wrapped_count,
        dropped: losses(of.dropped),
        durable_used: of.durable_used,
        durable_size: of.durable_size,
        buffer_size: of.buffer_size,
        events: of.events,
        bytes: of.bytes,
        answered_start: of.answered_start,
        end: of.end.as_ref().map(end_kind),
        violation: of.end.as_ref().map(violation).unwrap_or_default(),
    }
}

fn end_kind(end: &End) -> EndKind {
    match end {
        End::Terminated => EndKind::Terminated,
        End::TimedOut => EndKind::TimedOut,
        End::Disconnected => EndKind::Disconnected,
        End::CutOff(_) if end.ignores_data() => EndKind::OtherVersion,
        End::CutOff(_) => EndKind::CutOff,
    }
}

/// Returns the violation of a provider that was cut off, else an empty text.
fn violation(end: &End) -> String {
    match end {
        End::CutOff(violation) => violation.to_string(),
        End::Terminated | End::TimedOut | End::Disconnected => String::new(),
    }
}

/// Returns the results of a session. The control machine adds the name.
pub(crate) fn summary(of: &SessionSummary, output: String) -> Summary {
    let (bytes, failure) = match &of.archive {
        Ok(bytes) => (*bytes, None),
        Err(error) => (0, Some(failure(error))),
    };
    let (stopped_by, stopped_by_condition) = match of.stopped_by.clone() {
        Some(Cause::Alert(name)) => (Some(name), None),
        Some(Cause::Condition(text)) => (None, Some(text)),
        None => (None, None),
    };
    Summary {
        session: String::new(),
        output,
        duration: of.duration,
        categories: of.categories.clone(),
        alerts: of.alerts.clone().into_iter().collect(),
        conditions: of.conditions.clone().into_iter().collect(),
        unknown_conditions: of.unknown_conditions.clone(),
        stopped_by,
        stopped_by_condition,
        incomplete_conditions: of.incomplete_conditions.clone(),
        late_conditions: of.late_conditions.clone(),
        bytes,
        failure,
        guard_failure: of.guard_failure.clone(),
        companion: None,
        parts: newest_parts(&of.parts),
        parts_removed: of.parts_removed,
        backup: of.backup.as_ref().map(|path| path.to_string_lossy().into_owned()),
        snapshots_removed: of.snapshots_removed,
        refusals: of.refusals,
        refused: of.refused.iter().cloned().map(refusal).collect(),
        snapshots: of.snapshots.iter().map(snapshot).collect(),
        providers: of.providers.iter().cloned().map(result).collect(),
    }
}

/// Returns the newest parts, as many as a message has space for.
fn newest_parts(paths: &[PathBuf]) -> Vec<String> {
    let newest = paths.get(paths.len().saturating_sub(MAX_PARTS)..).unwrap_or_default();
    newest.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn failure(error: &ArchiveError) -> ArchiveFailure {
    ArchiveFailure {
        reason: error.source.to_string(),
        bytes: error.bytes,
        kept: error.kept.as_ref().map(|path| path.to_string_lossy().into_owned()),
        is_part: error.is_part,
        unwritten: error.unwritten,
    }
}

pub(super) fn refusal(Refusal { pid, name, reason }: Refusal) -> RefusalInfo {
    RefusalInfo { pid, name, reason }
}

fn snapshot(of: &SnapshotSummary) -> SnapshotInfo {
    snapshot_info(&of.path, &of.causes, of.archive.as_ref())
}

/// Returns a snapshot with its size in bytes, or why it was not written.
pub(super) fn snapshot_info(
    path: &Path,
    causes: &[Cause],
    result: Result<&u64, impl ToString>,
) -> SnapshotInfo {
    let (alerts, conditions) = Cause::split(causes);
    SnapshotInfo {
        path: path.to_string_lossy().into_owned(),
        alerts,
        conditions,
        bytes: result.as_ref().map_or(0, |bytes| **bytes),
        error: result.err().map(|error| error.to_string()),
    }
}

pub(crate) fn result(of: ProviderSummary) -> ProviderResult {
    let (end, violation) = (end_kind(&of.end), violation(&of.end));
    ProviderResult {
        id: of.id,
        pid: of.pid,
        uid: of.uid,
        name: of.name,
        buffer_size: of.buffer_size,
        wrapped_count: of.wrapped_count,
        dropped_by_reason: losses(of.dropped_by_reason),
        durable_used: of.durable_used,
        durable_size: of.durable_size,
        overwritten: of.overwritten,
        dropped: of.dropped,
        records: of.records,
        events: of.events,
        others: of.others,
        bytes: of.bytes,
        omitted: of.omitted.into_iter().map(|(what, number)| (what as u8, number)).collect(),
        rejected: of.rejected.into_iter().map(|(why, number)| (why as u8, number)).collect(),
        categories: of.categories.into_iter().collect(),
        known_categories: of.known_categories,
        open_scopes: of.open_scopes,
        joined_after: of.joined_after,
        left_after: of.left_after,
        answered_start: of.answered_start,
        answered_stop: of.answered_stop,
        end,
        violation,
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;
    use trace_protocol::socket::PeerCredentials;

    use super::*;

    const ROOT: Caller =
        Caller { peer: PeerCredentials { pid: 1, uid: 0, gid: 0 }, all_users: true };

    #[test]
    fn timeouts_of_zero_are_the_defaults() {
        let config = TraceConfig::default();
        assert_eq!(session_config(&config, ROOT).timeouts, Timeouts::default());
        let [start, stop] = [3, 4].map(Duration::from_secs);
        let config = TraceConfig { start_timeout: start, stop_timeout: stop, ..config };
        let expected = Timeouts { start, stop, ..Timeouts::default() };
        assert_eq!(session_config(&config, ROOT).timeouts, expected);
    }

    /// Programs of other users choose what they record and when they raise an alert.
    #[test]
    fn only_programs_of_the_owner_and_of_root_trigger_unless_the_session_names_others() {
        let may_trigger = |users: &[&str]| {
            let trigger_users = users.iter().map(|user| (*user).to_owned()).collect();
            let config = TraceConfig { trigger_users, ..TraceConfig::default() };
            let caller = Caller { peer: PeerCredentials { uid: 1000, ..ROOT.peer }, ..ROOT };
            let session = session_config(&config, caller);
            [0, 1000, 33, 1001].map(|uid| session.may_trigger(uid))
        };
        assert_eq!(may_trigger(&[]), [true, true, false, false]);
        assert_eq!(may_trigger(&["33"]), [true, true, true, false]);
        assert_eq!(may_trigger(&["33", "all"]), [true; 4]);
    }

    #[test]
    fn a_failed_archive_has_its_reason_and_what_is_kept() {
        let kept = Some(PathBuf::from("/tmp/t.fxt"));
        let error = ArchiveError::new(Errno::NOSPC.into(), 4096, kept);
        let found = failure(&error);
        let reason = found.reason.as_str();
        assert!(reason.starts_with("No space left on device"), "{reason}");
        assert_eq!((found.bytes, found.kept.as_deref()), (4096, Some("/tmp/t.fxt")));
    }
}
