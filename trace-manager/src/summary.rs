//! The progress and the summary of a session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use trace_format::notes::{Missing, Omission};
use trace_protocol::buffer::consumer::Rejection;
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::categories::CategorySet;

use crate::error::{ArchiveError, ManagerError};
use crate::machine::{End, SessionState};
use crate::trigger::Cause;

/// The progress of a running session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Its state.
    pub state: SessionState,
    /// The time since its start.
    pub elapsed: Duration,
    /// Providers that are in it now, also those that get their next buffer, or wait for one.
    /// Processes that the manager has started for a session do not count.
    pub providers: usize,
    /// Providers that have joined it so far, without such processes.
    pub joined: usize,
    /// Events collected so far. Oneshot and circular buffers are collected at the end.
    pub events: u64,
    /// Bytes of the archive written so far.
    pub bytes: u64,
    /// Records dropped so far, also those that are not written because the archive has failed.
    pub lost: u64,
    /// The number of refused providers so far.
    pub refusals: u64,
    /// The last of them.
    pub last_refusal: Option<Refusal>,
    /// The error of the archive, if it has one. The session continues without it.
    pub archive_failure: Option<String>,
    /// Why the guard would not complete the archive, if it was given up.
    pub guard_failure: Option<String>,
}

impl Progress {
    /// The progress before the session starts.
    pub(crate) const INITIAL: Self = Self {
        state: SessionState::Initialized,
        elapsed: Duration::ZERO,
        providers: 0,
        joined: 0,
        events: 0,
        bytes: 0,
        lost: 0,
        refusals: 0,
        last_refusal: None,
        archive_failure: None,
        guard_failure: None,
    };
}

/// The summary of an ended session.
#[derive(Debug)]
pub struct SessionSummary {
    /// The time from its start to its end.
    pub duration: Duration,
    /// The providers that joined, in the order of joining. Of very many programs, beyond about
    /// 4 MiB of summaries, those that left first have one together, without announced categories:
    /// its name is as `1200 earlier programs`, and its process id 0.
    pub providers: Vec<ProviderSummary>,
    /// The first 100 refused providers, with the reasons.
    pub refused: Vec<Refusal>,
    /// The number of all refusals.
    pub refusals: u64,
    /// The number of times that each alert was raised; the first 1000 names.
    pub alerts: BTreeMap<String, u64>,
    /// The number of times that each other condition of a trigger began to hold, by its text.
    pub conditions: BTreeMap<String, u64>,
    /// The conditions of triggers whose category and name no program has, so that they cannot
    /// hold.
    pub unknown_conditions: Vec<String>,
    /// The cause of the session's end, if it is a trigger.
    pub stopped_by: Option<Cause>,
    /// The conditions of triggers that may have held without notice: records were dropped, or a
    /// program had too many counters or open scopes of the condition.
    pub incomplete_conditions: Vec<String>,
    /// The conditions on durations that were evaluated only when a program or the recording ended,
    /// for durations that programs do not compare: their records are collected then, except in
    /// streaming mode.
    pub late_conditions: Vec<String>,
    /// The snapshots of alerts, and those that the caller requested without waiting, in order.
    pub snapshots: Vec<SnapshotSummary>,
    /// The number of snapshots of alerts that were removed because of the limits.
    pub snapshots_removed: u64,
    /// The configured category patterns.
    pub categories: Vec<String>,
    /// The archive's size in bytes, or the error if it is not complete. 0 if it was discarded: by
    /// the caller, or because it is empty and an earlier one has its name.
    pub archive: Result<u64, ArchiveError>,
    /// The paths of the archive's parts that exist, if it is cut. [`archive`](Self::archive) is the
    /// size of all, including removed ones.
    pub parts: Vec<PathBuf>,
    /// The number of parts that were removed because of the limit.
    pub parts_removed: u64,
    /// The new path of an earlier archive of the same name, if there was one and it is replaced.
    pub backup: Option<PathBuf>,
    /// The results of the other sinks, in their order.
    pub sinks: Vec<Result<u64, ArchiveError>>,
    /// Why the guard would not have completed the archive, if it was given up.
    pub guard_failure: Option<String>,
}

impl SessionSummary {
    /// Returns whether only names and strings were recorded.
    pub fn is_empty(&self) -> bool {
        self.providers.iter().all(|provider| provider.events == 0 && provider.others == 0)
    }

    /// Returns the number of events in the archive, or that would be in it if it had not failed.
    pub fn events(&self) -> u64 {
        self.providers.iter().map(|provider| provider.events).sum()
    }

    /// Returns the number of records that are not in the archive because it has failed.
    pub fn not_archived(&self) -> u64 {
        self.archive.as_ref().err().map_or(0, |error| error.unwritten)
    }

    /// Returns the number of dropped records, as reported by the providers.
    pub fn lost(&self) -> u64 {
        self.providers.iter().fold(0, |sum, provider| provider.dropped.saturating_add(sum))
    }

    /// Returns the data that the archive lacks. `trace check` reports the same.
    pub fn missing(&self) -> Missing {
        let mut missing = Missing { records: self.lost(), ..Missing::default() };
        missing.omit(Omission::Connections, self.refusals);
        for provider in &self.providers {
            for (omission, number) in &provider.omitted {
                missing.omit(*omission, *number);
            }
            for (_, number) in &provider.rejected {
                missing.omit(Omission::Refused, *number);
            }
        }
        missing
    }

    /// Returns the category patterns that matched no event.
    pub fn categories_without_events(&self) -> Vec<String> {
        let categories = self.providers.iter().flat_map(|provider| provider.categories.keys());
        let categories: Vec<&String> = categories.collect();
        let patterns = CategorySet::new(&self.categories);
        patterns.unmatched(&categories).into_iter().map(str::to_owned).collect()
    }
}

/// A snapshot of triggers.
#[derive(Debug)]
pub struct SnapshotSummary {
    /// Its path.
    pub path: PathBuf,
    /// Its causes.
    pub causes: Vec<Cause>,
    /// Its size in bytes, or the error.
    pub archive: Result<u64, ManagerError>,
}

/// The summary of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSummary {
    /// Its id in the archive. One that got several buffers has an id for each, and this is the
    /// first; the summary is about all of them.
    pub id: u32,
    /// Its process id, from the kernel.
    pub pid: u32,
    /// Its user id, from the kernel.
    pub uid: u32,
    /// Its name.
    pub name: String,
    /// Records in the archive, except those of the manager.
    pub records: u64,
    /// Event records among them.
    pub events: u64,
    /// Records of other types among them, such as blobs and logs, but not names and strings.
    pub others: u64,
    /// Bytes in the archive.
    pub bytes: u64,
    /// Records that it dropped because its buffer was full.
    pub dropped: u64,
    /// Omissions other than dropped records, with their numbers. A provider that was cut off, did
    /// not answer the stop, or was interrupted has one, too.
    pub omitted: Vec<(Omission, u64)>,
    /// Refused records, by reason.
    pub rejected: Vec<(Rejection, u64)>,
    /// Events by category.
    pub categories: BTreeMap<String, u64>,
    /// Categories that it announced.
    pub known_categories: Vec<String>,
    /// Scopes with a begin and without an end.
    pub open_scopes: u64,
    /// Rolling buffers that were overwritten, in circular mode.
    pub overwritten: u32,
    /// Time from the session's start until it joined.
    pub joined_after: Duration,
    /// Time from the session's start until it left.
    pub left_after: Duration,
    /// Whether it replied to Start.
    pub answered_start: bool,
    /// Whether it replied to the last Stop, or, if it continues for other sessions, to the message
    /// by which this one left it.
    pub answered_stop: bool,
    /// The size of its last buffer in bytes.
    pub buffer_size: u64,
    /// The number of switches of its rolling buffer, as it reports.
    pub wrapped_count: u32,
    /// Records that it dropped in the session, by reason, as it reports.
    pub dropped_by_reason: Vec<(LossReason, u64)>,
    /// Bytes of its last durable buffer in use.
    pub durable_used: u64,
    /// The size of its last durable buffer in bytes.
    pub durable_size: u64,
    /// How its session ended: how it left the last buffer that it did not leave on request, if
    /// there is one.
    pub end: End,
}

impl ProviderSummary {
    /// Adds what the provider recorded into its next buffer.
    pub(crate) fn add(&mut self, next: Self) {
        let sum = |total: &mut u64, more: u64| *total = total.saturating_add(more);
        sum(&mut self.records, next.records);
        sum(&mut self.events, next.events);
        sum(&mut self.others, next.others);
        sum(&mut self.bytes, next.bytes);
        sum(&mut self.dropped, next.dropped);
        sum(&mut self.open_scopes, next.open_scopes);
        add_numbers(&mut self.omitted, next.omitted);
        add_numbers(&mut self.rejected, next.rejected);
        add_numbers(&mut self.dropped_by_reason, next.dropped_by_reason);
        for (category, events) in next.categories {
            sum(self.categories.entry(category).or_default(), events);
        }
        self.known_categories = next.known_categories;
        self.overwritten = self.overwritten.saturating_add(next.overwritten);
        self.wrapped_count = self.wrapped_count.saturating_add(next.wrapped_count);
        self.left_after = next.left_after;
        self.answered_start &= next.answered_start;
        self.answered_stop = next.answered_stop;
        self.buffer_size = next.buffer_size;
        self.durable_used = next.durable_used;
        self.durable_size = next.durable_size;
        if next.end != End::Terminated {
            self.end = next.end;
        }
    }
}

/// Adds numbers to those of the same kind.
fn add_numbers<K: PartialEq>(numbers: &mut Vec<(K, u64)>, more: Vec<(K, u64)>) {
    for (kind, number) in more {
        match numbers.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, sum)) => *sum = sum.saturating_add(number),
            None => numbers.push((kind, number)),
        }
    }
}

/// A refused provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its process id.
    pub pid: u32,
    /// Its name, or else that of its process.
    pub name: String,
    /// The reason.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(events: &[(&str, u64)], dropped: u64) -> ProviderSummary {
        ProviderSummary {
            id: 1,
            pid: 2,
            uid: 3,
            name: "app".to_owned(),
            records: 0,
            events: events.iter().map(|(_, number)| number).sum(),
            others: 0,
            bytes: 0,
            dropped,
            omitted: vec![(Omission::Names, 2)],
            rejected: vec![(Rejection::Metadata, 3), (Rejection::Framing, 4)],
            categories: events.iter().map(|(name, number)| (name.to_string(), *number)).collect(),
            known_categories: Vec::new(),
            open_scopes: 0,
            overwritten: 0,
            joined_after: Duration::ZERO,
            left_after: Duration::ZERO,
            answered_start: true,
            answered_stop: true,
            buffer_size: 4096,
            wrapped_count: 0,
            dropped_by_reason: Vec::new(),
            durable_used: 0,
            durable_size: 0,
            end: End::Terminated,
        }
    }

    fn session(providers: Vec<ProviderSummary>) -> SessionSummary {
        SessionSummary {
            duration: Duration::ZERO,
            providers,
            refused: Vec::new(),
            refusals: 0,
            alerts: BTreeMap::new(),
            conditions: BTreeMap::new(),
            unknown_conditions: Vec::new(),
            incomplete_conditions: Vec::new(),
            late_conditions: Vec::new(),
            stopped_by: None,
            snapshots: Vec::new(),
            snapshots_removed: 0,
            categories: ["web", "db*", "disk"].map(str::to_owned).to_vec(),
            archive: Ok(0),
            parts: Vec::new(),
            parts_removed: 0,
            backup: None,
            sinks: Vec::new(),
            guard_failure: None,
        }
    }

    #[test]
    fn totals_are_sums_over_providers() {
        let summary = session(vec![provider(&[("web", 5)], 10), provider(&[("db.sql", 7)], 20)]);
        assert_eq!((summary.events(), summary.lost()), (12, 30));
        assert_eq!(summary.categories_without_events(), ["disk"]);
        let hostile = session(vec![provider(&[], u64::MAX), provider(&[], 1)]);
        assert_eq!(hostile.lost(), u64::MAX, "the sum saturates");
    }

    /// Numbers are added. Sizes are those of the last buffer.
    #[test]
    fn a_provider_with_two_buffers_has_one_summary() {
        let mut summary = ProviderSummary {
            end: End::TimedOut,
            answered_stop: false,
            wrapped_count: 2,
            ..provider(&[("web", 5)], 10)
        };
        summary.add(ProviderSummary {
            id: 7,
            buffer_size: 8192,
            wrapped_count: 3,
            left_after: Duration::from_secs(9),
            omitted: vec![(Omission::Names, 1), (Omission::Interruptions, 1)],
            ..provider(&[("web", 1), ("db", 2)], u64::MAX)
        });
        let categories = [("db", 2), ("web", 6)].map(|(name, events)| (name.to_owned(), events));
        let expected = ProviderSummary {
            events: 8,
            dropped: u64::MAX,
            omitted: vec![(Omission::Names, 3), (Omission::Interruptions, 1)],
            rejected: vec![(Rejection::Metadata, 6), (Rejection::Framing, 8)],
            categories: categories.into(),
            left_after: Duration::from_secs(9),
            buffer_size: 8192,
            wrapped_count: 5,
            end: End::TimedOut,
            ..provider(&[], 0)
        };
        assert_eq!(summary, expected);
    }

    /// Other records are logs, blobs, objects and the like.
    #[test]
    fn a_summary_without_events_and_other_records_is_empty() {
        let silent = || provider(&[], 0);
        assert!(session(vec![]).is_empty() && session(vec![silent(), silent()]).is_empty());
        assert!(!session(vec![silent(), provider(&[("web", 1)], 0)]).is_empty());
        let logging = ProviderSummary { others: 1, ..silent() };
        assert!(!session(vec![silent(), logging]).is_empty());
    }

    #[test]
    fn missing_data_includes_losses_omissions_and_refusals() {
        let mut summary = session(vec![provider(&[], 10), provider(&[], 20)]);
        summary.refusals = 5;
        let mut missing = Missing { records: 30, ..Missing::default() };
        missing.omit(Omission::Names, 4);
        missing.omit(Omission::Refused, 14);
        missing.omit(Omission::Connections, 5);
        assert_eq!(summary.missing(), missing);
    }
}
