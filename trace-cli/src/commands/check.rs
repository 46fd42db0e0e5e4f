//! `trace check`

use anyhow::Result;
use trace_analyze::catalog::Catalog;
use trace_analyze::check::{self, Report, Verdict};
use trace_analyze::stats::Group;
use trace_analyze::Kinds;
use trace_convert::visible;
use trace_format::{notes, ThreadKoids};

use crate::cli::CheckArgs;
use crate::message::{counted, describe};
use crate::rows::group_label;
use crate::{exit, input, say, switches, table, unreadable};

pub(crate) fn run(args: &CheckArgs) -> Result<u8> {
    let path = &args.report.file;
    let report =
        check::check(input::open(path)?).map_err(|error| unreadable::explain(path, error))?;
    table::print(&if args.report.json { json(&report)? } else { text(&report) })?;
    let code = match report.verdict() {
        Verdict::Complete => exit::OK,
        Verdict::Lossy => exit::INCOMPLETE,
        Verdict::Malformed => exit::FAILURE,
    };
    if let Some(error) = report.no_archive {
        say(&describe(unreadable::explain(&args.report.file, error).as_ref()));
    }
    Ok(code)
}

fn json(report: &Report) -> Result<String> {
    Ok(serde_json::to_string_pretty(&report.to_json())? + "\n")
}

fn text(report: &Report) -> String {
    let mut lines = vec![
        match report.verdict() {
            Verdict::Complete if report.buffers_overwritten > 0 => {
                "well-formed, with the newest records of a circular buffer"
            }
            Verdict::Complete if report.has_unpaired() => {
                "well-formed, no records dropped, but durations or operations lack a begin or an end"
            }
            Verdict::Complete if report.kinds.missing_switches > 0 => {
                "well-formed, no records dropped, but some context switches are not recorded"
            }
            Verdict::Complete => "well-formed and complete",
            Verdict::Lossy => "well-formed, but data is missing",
            Verdict::Malformed => "malformed",
        }
        .to_owned(),
        format!(
            "{}, {}, {}",
            counted(report.bytes, "byte", "bytes"),
            counted(report.damage.stats.records, "record", "records"),
            counted(report.events, "event", "events")
        ),
    ];
    providers(report, &mut lines);
    damage(report, &mut lines);
    losses(report, &mut lines);
    lines.extend(scheduling(&report.kinds, report.verdict() == Verdict::Complete));
    open_scopes(report, &mut lines);
    lines.iter().map(|line| visible(line) + "\n").collect()
}

fn providers(report: &Report, lines: &mut Vec<String>) {
    for provider in &report.providers {
        let label = match provider.id {
            Some(id) => format!("provider {id} {:?}", provider.name),
            None => "before the first provider".to_owned(),
        };
        let records = counted(provider.records, "record", "records");
        let events = counted(provider.events, "event", "events");
        let dropped = provider.records_dropped;
        lines.push(format!("{label}: {records}, {events}, {dropped} dropped"));
    }
}

/// Returns a line about the scheduling records, if there are any.
fn scheduling(kinds: &Kinds, is_complete: bool) -> Option<String> {
    let wakeups = match kinds.wakeups {
        0 => "no wake-ups".to_owned(),
        number => counted(number, "wake-up", "wake-ups"),
    };
    let missing = switches::missing(kinds.missing_switches, is_complete);
    let missing = missing.map_or_else(String::new, |missing| format!("; {missing}"));
    let switches = counted(kinds.switches, "context switch", "context switches");
    let has_any = kinds.switches + kinds.wakeups > 0;
    has_any.then(|| format!("scheduling: {switches}, {wakeups}{missing}"))
}

fn damage(report: &Report, lines: &mut Vec<String>) {
    let (stats, audit) = (&report.damage.stats, &report.damage.audit);
    lines.extend(stats.notes().map(str::to_owned));
    lines.extend(report.errors.iter().map(|error| format!("error: {error}")));
    let more = report.error_count.saturating_sub(report.errors.len() as u64);
    let counts = [
        ("more errors", more),
        ("references to unknown strings", audit.unknown_strings),
        ("references to unknown threads", audit.unknown_threads),
        ("records of unknown types", stats.unknown_records),
        (notes::UNKNOWN_ARGUMENTS, audit.unknown_arguments),
        (notes::SATURATED, audit.saturated_times),
        ("durations without a begin", report.ends_without_begin),
        ("async operations without a begin", report.unpaired_operations.ends),
    ];
    push_counts(&counts, lines);
}

fn losses(report: &Report, lines: &mut Vec<String>) {
    let counts = [
        (notes::ENDS_EARLY, report.damage.ends_early()),
        ("overwritten older buffers", report.buffers_overwritten),
        ("full buffers", report.damage.buffers_full),
        ("dropped records", report.damage.records_dropped),
    ];
    push_counts(&counts, lines);
    let omitted: Vec<_> =
        report.damage.missing().omissions().map(|(what, number)| (what.event(), number)).collect();
    push_counts(&omitted, lines);
    for row in &report.dropped {
        let provider = row.provider.map_or("-".to_owned(), |id| id.to_string());
        let thread = place(&report.names, row.thread);
        let (number, reason) = (row.number, &row.reason);
        lines.push(format!("  provider {provider}, {thread}: {number}, {reason:?}"));
    }
}

fn open_scopes(report: &Report, lines: &mut Vec<String>) {
    let operations = ("async operations without an end", report.unpaired_operations.begins);
    push_counts(&[operations, ("durations without an end", report.open_scope_count)], lines);
    for scope in &report.open_scopes {
        let thread = place(&report.names, scope.thread);
        let (seconds, nanos) = (scope.nanos / 1_000_000_000, scope.nanos % 1_000_000_000);
        let (category, name) = (&scope.category, &scope.name);
        lines.push(format!("  {thread} since {seconds}.{nanos:09}s: {category:?} {name:?}"));
    }
}

/// Returns a thread by its names, or by its ids if it has none.
fn place(names: &Catalog, koids: ThreadKoids) -> String {
    let group = Group::of_thread(names, koids);
    match koids {
        ThreadKoids { thread: 0, .. } => format!("several threads of {}", group_label(&group)),
        ThreadKoids { process, thread } if group.thread_name.is_empty() => {
            format!("thread {process}/{thread}")
        }
        _ => group_label(&group),
    }
}

fn push_counts(counts: &[(&str, u64)], lines: &mut Vec<String>) {
    let present = counts.iter().filter(|(_, number)| *number > 0);
    lines.extend(present.map(|(what, number)| format!("{what}: {number}")));
}
