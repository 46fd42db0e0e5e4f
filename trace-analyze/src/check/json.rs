//! A report as JSON.

use serde_json::{json, Value};

use super::{Dropped, OpenScope, ProviderReport, Report, Verdict};
use crate::exact;

impl Report {
    /// Returns the report as a JSON object, for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (stats, audit) = (&self.damage.stats, &self.damage.audit);
        json!({
            "verdict": match self.verdict() {
                Verdict::Complete => "complete",
                Verdict::Lossy => "lossy",
                Verdict::Malformed => "malformed",
            },
            "bytes": self.bytes,
            "records": stats.records,
            "events": self.events,
            "kinds": self.kinds.to_json(),
            "bad_records": stats.bad_records,
            "unknown_records": stats.unknown_records,
            "notes": stats.notes().collect::<Vec<_>>(),
            "unknown_arguments": audit.unknown_arguments,
            "saturated_times": audit.saturated_times,
            "unknown_strings": audit.unknown_strings,
            "unknown_threads": audit.unknown_threads,
            "error_count": self.error_count,
            "errors": self.errors,
            "providers": self.providers.iter().map(provider).collect::<Vec<_>>(),
            "ends_early": self.damage.ends_early(),
            "buffers_full": self.damage.buffers_full,
            "buffers_overwritten": self.buffers_overwritten,
            "records_dropped": self.damage.records_dropped,
            "not_recorded": not_recorded(self),
            "dropped": self.dropped.iter().map(|row| dropped(self, row)).collect::<Vec<_>>(),
            "ends_without_begin": self.ends_without_begin,
            "open_scope_count": self.open_scope_count,
            "operations_without_begin": self.unpaired_operations.ends,
            "operations_without_end": self.unpaired_operations.begins,
            "open_scopes": self.open_scopes.iter().map(|scope| open_scope(self, scope)).collect::<Vec<_>>(),
        })
    }
}

/// Returns missing data other than records, with the keys of the summary of a recording.
fn not_recorded(report: &Report) -> serde_json::Map<String, Value> {
    report
        .damage
        .missing()
        .omissions()
        .map(|(what, number)| (what.as_str().to_owned(), number.into()))
        .collect()
}

fn provider(provider: &ProviderReport) -> Value {
    json!({
        "id": provider.id,
        "name": provider.name,
        "records": provider.records,
        "events": provider.events,
        "records_dropped": provider.records_dropped,
    })
}

fn dropped(report: &Report, dropped: &Dropped) -> Value {
    json!({
        "provider": dropped.provider,
        "process": exact(dropped.thread.process),
        "process_name": report.names.process_name(dropped.thread.process),
        "thread": match dropped.thread.thread {
            0 => Value::Null,
            thread => exact(thread),
        },
        "thread_name": report.names.thread_name(dropped.thread),
        "reason": dropped.reason,
        "number": dropped.number,
    })
}

fn open_scope(report: &Report, scope: &OpenScope) -> Value {
    json!({
        "process": exact(scope.thread.process),
        "process_name": report.names.process_name(scope.thread.process),
        "thread": exact(scope.thread.thread),
        "thread_name": report.names.thread_name(scope.thread),
        "category": scope.category,
        "name": scope.name,
        "ns": scope.nanos,
    })
}
