//! The summary of a session, as text and as JSON.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{json, Value};
use trace_convert::visible;
use trace_manager::controller::CompanionResult;
use trace_manager::{Cause, End, ProviderSummary, Refusal, SessionSummary, SnapshotSummary};

use super::kernel::{self, KernelResult};
use super::report::Report;
use super::{empty, triggers};
use crate::daemon_client::print_json;
use crate::logs::Logs;
use crate::losses;
use crate::message::{describe, plural};
use crate::unmatched;

/// The most logs that are named.
const MAX_LOGS: usize = 4;

/// Prints the summary: to standard output as JSON if asked for, else to standard error.
pub(crate) fn print(report: &Report<'_>, summary: &SessionSummary) -> Result<()> {
    let advice = advice(report, summary);
    if report.json {
        print_json(&as_json(report, summary, &advice))?;
    } else if !report.quiet {
        for line in as_text(report, summary).lines() {
            crate::say(line);
        }
    }
    advice.iter().for_each(|line| crate::say(line));
    if let Err(error) = &summary.archive {
        crate::say(&describe(error));
    }
    Ok(())
}

fn as_text(report: &Report<'_>, summary: &SessionSummary) -> String {
    let mut text = String::new();
    if let Ok(bytes) = summary.archive {
        let (recorded, output) = (recorded(report, summary), files(report, summary));
        let seconds = summary.duration.as_secs_f64();
        let written = match bytes {
            0 => String::new(),
            _ => format!(", {} in {output}", HumanBytes(bytes)),
        };
        let _ = writeln!(text, "{recorded} in {seconds:.3} s{written}");
    }
    for provider in &summary.providers {
        let kernel = report.kernel.filter(|kernel| kernel.pid == Some(provider.pid));
        let _ = writeln!(text, "  {}", provider_line(provider, kernel, summary.archive.is_ok()));
    }
    if summary.archive.is_err() {
        text.push_str(&written(report, summary));
    }
    let quoted = |name: &String| format!("\"{}\"", visible(name));
    let plain = |condition: &String| visible(condition).into_owned();
    text.push_str(&counts("alerts", &summary.alerts, quoted));
    text.push_str(&counts("conditions", &summary.conditions, plain));
    if summary.snapshots_removed > 0 {
        let noun = plural(summary.snapshots_removed, "snapshot", "snapshots");
        let _ = writeln!(text, "  {} older {noun} removed", HumanCount(summary.snapshots_removed));
    }
    if summary.parts_removed > 0 {
        let noun = plural(summary.parts_removed, "part", "parts");
        let _ = writeln!(text, "  {} older {noun} removed", HumanCount(summary.parts_removed));
    }
    if let Some(logs) = report.logs.filter(|logs| !logs.paths.is_empty()) {
        let _ = writeln!(text, "  {}", logs_line(logs));
    }
    let log = report.logs.and_then(|logs| logs.paths.first());
    let is_written = log.is_some() || matches!(summary.archive, Ok(bytes) if bytes != 0);
    let path = log.or(summary.parts.last()).map_or(report.output, PathBuf::as_path);
    // A pipe or a socket cannot be opened again.
    if is_written && !summary.is_empty() && path.is_file() {
        let path = path.to_string_lossy();
        let path = visible(&path);
        let _ =
            writeln!(text, "open it with trace view {path}, or print it with trace dump {path}");
    }
    text
}

/// Returns the counts and the paths of logs.
fn logs_line(logs: &Logs) -> String {
    let (calls, events) = (HumanCount(logs.calls()), HumanCount(logs.events()));
    let mut line = format!(
        "{calls} {} and {events} {}",
        plural(logs.calls(), "call", "calls"),
        plural(logs.events(), "custom event", "custom events")
    );
    if logs.short() > 0 {
        let _ = write!(line, ", {} shorter", HumanCount(logs.short()));
    }
    let paths: Vec<_> = logs.paths.iter().map(|path| path.to_string_lossy()).collect();
    let (named, more) = paths.split_at(paths.len().min(MAX_LOGS));
    let named: Vec<_> = named.iter().map(|path| visible(path)).collect();
    let _ = write!(line, ": {}", named.join(", "));
    if !more.is_empty() {
        let _ = write!(line, " and {} more", more.len());
    }
    line
}

/// Returns the archive's path, or those of its first and last part.
fn files(report: &Report<'_>, summary: &SessionSummary) -> String {
    let name = |path: &Path| visible(&path.to_string_lossy()).into_owned();
    match summary.parts.as_slice() {
        [] => name(report.output),
        [part] => name(part),
        [first, .., last] => format!("{} to {}", name(first), name(last)),
    }
}

/// Returns lines about the records of an archive that has failed: what it has, and what not.
fn written(report: &Report<'_>, summary: &SessionSummary) -> String {
    let mut text = String::new();
    let parts = summary.parts.len() as u64;
    if parts > 0 {
        let noun = plural(parts, "complete part", "complete parts");
        let _ = writeln!(text, "  {} {noun}: {}", HumanCount(parts), files(report, summary));
    }
    let missing = summary.not_archived();
    if missing > 0 {
        let verb = plural(missing, "record is", "records are");
        let _ = writeln!(text, "  {} {verb} not in the archive", HumanCount(missing));
    }
    text
}

/// Returns a line with the names and the numbers, or nothing if there are none.
fn counts(kind: &str, counts: &BTreeMap<String, u64>, text: impl Fn(&String) -> String) -> String {
    let times = |(name, number): (&String, &u64)| match number {
        1 => text(name),
        _ => format!("{} ({number} times)", text(name)),
    };
    match counts.is_empty() {
        true => String::new(),
        false => format!("  {kind}: {}\n", counts.iter().map(times).collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the numbers of events, and of the kernel's records that are no events.
fn recorded(report: &Report<'_>, summary: &SessionSummary) -> String {
    let CompanionResult { scheduling, samples, .. } = report.kernel.unwrap_or_default().numbers();
    let events = (summary.events(), "event", "events");
    let others =
        [(scheduling, "scheduling record", "scheduling records"), (samples, "sample", "samples")];
    let others = others.into_iter().filter(|(number, ..)| *number > 0);
    let numbers: Vec<String> = [events]
        .into_iter()
        .chain(others)
        .map(|(number, one, many)| format!("{} {}", HumanCount(number), plural(number, one, many)))
        .collect();
    numbers.join(", ")
}

/// Returns the line of a provider. `kernel` is the result if it is the kernel's. `is_written` is
/// whether its records are in the archive.
fn provider_line(
    provider: &ProviderSummary,
    kernel: Option<KernelResult>,
    is_written: bool,
) -> String {
    let ProviderSummary { pid, records, bytes, dropped, open_scopes, .. } = provider;
    let name = visible(&provider.name);
    let noun = plural(*records, "record", "records");
    let (count, bytes) = (HumanCount(*records), HumanBytes(*bytes));
    let mut line = format!("{name} ({pid}): {count} {noun}, {bytes}");
    match is_written {
        true => drop(write!(line, ", {} lost", HumanCount(*dropped))),
        // Others may be lost with the archive.
        false if *dropped > 0 => drop(write!(line, ", {} dropped", HumanCount(*dropped))),
        false => {}
    }
    let dropped = kernel.map_or(0, |kernel| kernel.numbers().dropped);
    if dropped > 0 {
        let _ = write!(line, ", at least {} by the kernel", HumanCount(dropped));
    }
    if *open_scopes > 0 {
        let scopes = plural(*open_scopes, "scope", "scopes");
        let _ = write!(line, ", {open_scopes} {scopes} open");
    }
    if !provider.omitted.is_empty() {
        let omitted = provider
            .omitted
            .iter()
            .map(|(what, number)| format!("{} {}", HumanCount(*number), what.as_str()));
        let _ = write!(line, ", not recorded: {}", omitted.collect::<Vec<_>>().join(" and "));
    }
    if provider.overwritten > 0 {
        line.push_str(", older ones overwritten");
    }
    let refused: u64 = provider.rejected.iter().map(|(_, count)| count).sum();
    if refused > 0 {
        let _ = write!(line, ", {refused} refused");
    }
    line
}

/// Returns whether data is missing, there is none, or a selected category has none.
pub(crate) fn is_incomplete(summary: &SessionSummary, kernel: Option<KernelResult>) -> bool {
    !summary.missing().is_empty()
        || summary.is_empty()
        || !kernel::categories_without_events(summary, kernel).is_empty()
        || kernel.is_some_and(|kernel| !kernel.has_all())
}

/// Returns warnings with their hints.
fn advice(report: &Report<'_>, summary: &SessionSummary) -> Vec<String> {
    let mut lines = Vec::from_iter(empty::advice(report, summary));
    lines.extend(unchanged(report, summary));
    lines.extend(triggers::advice(report, summary));
    for category in kernel::categories_without_events(summary, report.kernel) {
        lines.push(unmatched::no_event(&category, known(summary)));
    }
    for provider in &summary.providers {
        let name = visible(&provider.name);
        lines.extend(losses::warnings(&name, provider.dropped, &provider.dropped_by_reason));
    }
    lines.extend(report.kernel.into_iter().flat_map(KernelResult::advice));
    lines.extend(summary.providers.iter().filter_map(misbehavior));
    for refusal in &summary.refused {
        let name = visible(&refusal.name);
        lines.push(format!("cannot record {name} ({}): {}", refusal.pid, refusal.reason));
    }
    let more = summary.refusals.saturating_sub(summary.refused.len() as u64);
    if more > 0 {
        // A program may connect again.
        let connections = plural(more, "connection was", "connections were");
        lines.push(format!("{} more {connections} refused", HumanCount(more)));
    }
    lines
}

/// Returns the warning that an earlier archive stays, because the recording has no records.
fn unchanged(report: &Report<'_>, summary: &SessionSummary) -> Option<String> {
    let output = report.output.to_string_lossy();
    let is_unchanged = matches!(summary.archive, Ok(0)) && report.logs.is_none();
    is_unchanged.then(|| format!("{} is unchanged", visible(&output)))
}

/// Returns a warning about a provider that violated the protocol.
fn misbehavior(provider: &ProviderSummary) -> Option<String> {
    let ProviderSummary { pid, .. } = provider;
    let name = visible(&provider.name);
    match &provider.end {
        End::CutOff(violation) if provider.end.ignores_data() => {
            Some(format!("{name} ({pid}) was cut off and its data ignored: {violation}"))
        }
        End::CutOff(violation) => Some(format!(
            "{name} ({pid}) was cut off: {violation}; its earlier records are in the archive"
        )),
        // The hint is at the message that nothing was recorded.
        _ if provider.events == 0 && empty::buffer_hint(provider).is_some() => None,
        _ if !provider.answered_start => Some(format!("{name} ({pid}) did not answer the start")),
        End::TimedOut => {
            Some(format!("{name} ({pid}) did not answer the stop: its buffer was read unfinished"))
        }
        End::Terminated | End::Disconnected => None,
    }
}

/// Returns the categories of the programs, for a hint.
fn known(summary: &SessionSummary) -> impl Iterator<Item = &str> {
    let all = summary.providers.iter().flat_map(|provider| &provider.known_categories);
    all.map(String::as_str)
}

fn as_json(report: &Report<'_>, summary: &SessionSummary, advice: &[String]) -> Value {
    let (alert, condition) = match &summary.stopped_by {
        Some(Cause::Alert(name)) => (Some(name), None),
        Some(Cause::Condition(text)) => (None, Some(text)),
        None => (None, None),
    };
    json!({
        "archive": report.output.to_string_lossy(),
        "bytes": summary.archive.as_ref().ok(),
        "written": summary.archive.as_ref().is_ok_and(|bytes| *bytes > 0),
        "parts": summary.parts.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "parts_removed": summary.parts_removed,
        "logs": report.logs.iter().flat_map(|logs| &logs.paths).map(|path| path.to_string_lossy())
            .collect::<Vec<_>>(),
        "error": summary.archive.as_ref().err().map(ToString::to_string),
        "guard_error": summary.guard_failure,
        "seconds": summary.duration.as_secs_f64(),
        "events": summary.events(),
        "lost": summary.lost().saturating_add(summary.not_archived()),
        "not_archived": summary.not_archived(),
        "providers": summary.providers.iter().map(provider_json).collect::<Vec<_>>(),
        "alerts": summary.alerts,
        "conditions": summary.conditions,
        "stopped_by_alert": alert,
        "stopped_by_condition": condition,
        "triggers_not_raised": triggers::not_raised(report, summary),
        "snapshots": summary.snapshots.iter().map(snapshot_json).collect::<Vec<_>>(),
        "snapshots_removed": summary.snapshots_removed,
        "refused": summary.refused.iter().map(refusal_json).collect::<Vec<_>>(),
        "refusals": summary.refusals,
        "categories_without_events": kernel::categories_without_events(summary, report.kernel),
        "messages": advice,
    })
}

fn refusal_json(refusal: &Refusal) -> Value {
    json!({ "name": refusal.name, "pid": refusal.pid, "reason": refusal.reason })
}

fn snapshot_json(snapshot: &SnapshotSummary) -> Value {
    let (alerts, conditions) = Cause::split(&snapshot.causes);
    json!({
        "archive": snapshot.path.to_string_lossy(),
        "alerts": alerts,
        "conditions": conditions,
        "bytes": snapshot.archive.as_ref().ok(),
        "error": snapshot.archive.as_ref().err().map(ToString::to_string),
    })
}

fn provider_json(provider: &ProviderSummary) -> Value {
    let rejected = provider
        .rejected
        .iter()
        .map(|(reason, count)| (reason.as_str().to_owned(), Value::from(*count)));
    let omitted = provider
        .omitted
        .iter()
        .map(|(what, number)| (what.as_str().to_owned(), Value::from(*number)));
    let lost = provider
        .dropped_by_reason
        .iter()
        .map(|(reason, number)| (reason.as_str().to_owned(), Value::from(*number)));
    json!({
        "name": provider.name,
        "pid": provider.pid,
        "uid": provider.uid,
        "records": provider.records,
        "events": provider.events,
        "bytes": provider.bytes,
        "lost": provider.dropped,
        "lost_by_reason": lost.collect::<serde_json::Map<_, _>>(),
        "wrapped_count": provider.wrapped_count,
        "durable_used": provider.durable_used as f64 / provider.durable_size.max(1) as f64,
        "buffer_size": provider.buffer_size,
        "rejected": rejected.collect::<serde_json::Map<_, _>>(),
        "not_recorded": omitted.collect::<serde_json::Map<_, _>>(),
        "open_scopes": provider.open_scopes,
        "buffers_overwritten": provider.overwritten,
        "categories": provider.categories,
        "known_categories": provider.known_categories,
        "joined_after_seconds": provider.joined_after.as_secs_f64(),
        "left_after_seconds": provider.left_after.as_secs_f64(),
        "answered_start": provider.answered_start,
        "answered_stop": provider.answered_stop,
        "end": provider.end.to_string(),
        "cut_off": match &provider.end {
            End::CutOff(violation) => Some(violation.to_string()),
            _ => None,
        },
    })
}
