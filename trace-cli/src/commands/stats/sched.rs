//! `trace stats --sched`

use std::cmp::Reverse;

use anyhow::{bail, Result};
use trace_analyze::schedule::threads::{self, Preemption, Scheduling, ThreadTimes};
use trace_analyze::stats::PERCENTILES;
use trace_analyze::Damage;

use super::section;
use crate::args::SortBy;
use crate::cli::StatsArgs;
use crate::message::{counted, HINT};
use crate::rows::thread_label as label;
use crate::table::{self, human_nanos, Table};
use crate::unreadable::explained;
use crate::{damage, input, say, switches};

/// The name of the artificial threads of CPUs that run no recorded thread.
const OTHERS: &str = "other threads or idle";

/// The threads of the tracer, in the program and in the process that reads the kernel's events.
const TRACER: [&str; 5] =
    ["trace-kernel", "trace-listener", "trace-observer", "trace-prepare", "trace-service"];

/// The most rows of preemptions without `--limit`.
const MAX_PREEMPTIONS: usize = 20;

/// What the states mean without wake-ups.
const NO_WAKEUPS: &str =
    "\nno wake-ups are recorded: BLOCKED includes the wait for a CPU after a wake-up\n";

/// Prints the states of threads.
pub(super) fn run(args: &StatsArgs) -> Result<u8> {
    let mut report = explained(&args.file, threads::read(input::open(&args.file)?))?;
    let has_records = !report.threads.is_empty() || !report.partial.is_empty();
    select(args, &mut report)?;
    let pairs = report.preemptions.len();
    if args.limit.is_none() && !args.json {
        report.preemptions.truncate(MAX_PREEMPTIONS);
    }
    let output = match args.json {
        true => serde_json::to_string_pretty(&report.to_json())? + "\n",
        false => text(&report),
    };
    table::print(&output)?;
    if !has_records {
        say(&format!("the archive has no scheduling records{}", advice(&report.damage)));
    }
    let left_out = (pairs - report.preemptions.len()) as u64;
    if left_out > 0 {
        let rows = counted(left_out, "more row", "more rows");
        say(&format!("{rows} of preemptions{HINT}--limit {pairs} shows them"));
    }
    warn(args, &report);
    Ok(damage::warn(&args.file, &report.damage))
}

/// Returns why there are no scheduling records. In an archive that is cut off they are often in the
/// missing part, because each process writes its last records at the end.
pub(super) fn advice(damage: &Damage) -> String {
    match damage.ends_early() == 0 && damage.is_readable() {
        true => format!("{HINT}record with --sched, see trace doctor"),
        false => " in its readable part".to_owned(),
    }
}

/// Drops unselected threads, and limits the rows. Fails if a selected thread has no records.
fn select(args: &StatsArgs, report: &mut Scheduling) -> Result<()> {
    let groups = report.threads.iter().map(|times| &times.group).chain(&report.partial);
    let named = groups.map(|group| (group.koids.thread, group.thread_name.clone()));
    let named: Vec<_> = named.collect();
    if let Some(selected) = input::koids(&args.selection.thread, "thread", &named)? {
        let is_missing = |koid: &&u64| !named.iter().any(|(named, _)| named == *koid);
        if let Some(koid) = selected.iter().find(is_missing) {
            let hint = if named.is_empty() { advice(&report.damage) } else { String::new() };
            bail!("{} has no scheduling records of thread {koid}{hint}", args.file.display());
        }
        report.retain(|koids| selected.contains(&koids.thread));
    }
    sort(report, args.sort.unwrap_or(SortBy::Run));
    let limit = args.limit.unwrap_or(usize::MAX);
    report.threads.truncate(limit);
    report.preemptions.truncate(limit);
    Ok(())
}

/// Sorts the threads by a column, the largest first, and the preemptions by their number or their
/// thread. Rows of equal values stay in their order.
fn sort(report: &mut Scheduling, by: SortBy) {
    let latency = |times: &ThreadTimes, quantile| times.latency.quantile(quantile);
    let value = |times: &ThreadTimes| match by {
        SortBy::Runnable => times.runnable,
        SortBy::Blocked => times.blocked,
        SortBy::Turns => times.turns,
        SortBy::Preempted => times.preempted,
        SortBy::P50 => latency(times, 0.5),
        SortBy::P90 => latency(times, 0.9),
        SortBy::P99 | SortBy::Latency => latency(times, 0.99),
        SortBy::P999 => latency(times, 0.999),
        SortBy::Max => times.latency.max(),
        _ => times.running,
    };
    match by {
        SortBy::Name => report.threads.sort_by_cached_key(|times| natural(&label(&times.group))),
        _ => report.threads.sort_by_cached_key(|times| Reverse(value(times))),
    }
    match by {
        SortBy::Name => {
            report.preemptions.sort_by_cached_key(|pair| natural(&label(&pair.thread)));
        }
        SortBy::Preempted => report.preemptions.sort_by_key(|pair| Reverse(pair.count)),
        _ => {}
    }
}

/// A part of a text, so that numbers are in the order of their values.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The digits without leading zeros. More of them are a larger number.
    Number(usize, String),
    Other(String),
}

/// Returns the key by which people sort texts: `worker 9` is before `worker 10`.
fn natural(text: &str) -> Vec<Part> {
    let parts = text.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let part = |bytes: &[u8]| {
        let part = String::from_utf8_lossy(bytes);
        match part.starts_with(|c: char| c.is_ascii_digit()) {
            true => {
                let digits = part.trim_start_matches('0');
                Part::Number(digits.len(), digits.to_owned())
            }
            false => Part::Other(part.into_owned()),
        }
    };
    parts.map(part).collect()
}

fn text(report: &Scheduling) -> String {
    let mut text = String::new();
    section(&mut text, "threads", &states(&report.threads));
    section(&mut text, "wake-up latencies", &latencies(report));
    section(&mut text, "preemptions", &preemptions(&report.preemptions));
    if report.latency.count() == 0 && !report.threads.is_empty() {
        text.push_str(NO_WAKEUPS);
    }
    text.push_str(&explained_threads(report));
    if !report.partial.is_empty() {
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(&omitted(report.partial.len() as u64));
    } else if text.is_empty() {
        text.push_str("no scheduling records\n");
    }
    text
}

/// Returns lines about threads that the user did not start.
fn explained_threads(report: &Scheduling) -> String {
    let by = report.preemptions.iter().filter_map(|pair| pair.by.as_ref());
    let groups: Vec<_> = report.threads.iter().map(|times| &times.group).chain(by).collect();
    let has = |name: &str| groups.iter().any(|group| group.thread_name == name);
    let mut text = String::new();
    if has(OTHERS) {
        text.push_str(&format!("\n{OTHERS}: a CPU ran a thread that is not recorded, or none\n"));
    }
    let own: Vec<&str> = TRACER.into_iter().filter(|name| has(name)).collect();
    if !own.is_empty() {
        text.push_str(&format!("\nthreads of the tracer: {}\n", own.join(", ")));
    }
    text
}

fn omitted(threads: u64) -> String {
    let threads_outside = "threads outside of the recorded processes are omitted";
    let thread_outside = "thread outside of the recorded processes is omitted";
    counted(threads, thread_outside, threads_outside) + "\n"
}

fn states(threads: &[ThreadTimes]) -> Table {
    let heads = vec!["run", "runnable", "blocked", "turns", "preempted", "thread"];
    let mut table = Table::new(heads, 5);
    for times in threads {
        let mut cells = [times.running, times.runnable, times.blocked].map(human_nanos).to_vec();
        cells.extend([times.turns, times.preempted].map(|number| number.to_string()));
        cells.push(label(&times.group));
        table.push(cells);
    }
    table
}

/// Returns a table of the threads that were woken up, and of all of them together.
fn latencies(report: &Scheduling) -> Table {
    let mut table = Table::new(vec!["wake-ups", "p50", "p90", "p99", "p99.9", "max", "thread"], 6);
    let threads = report.threads.iter().map(|times| (&times.latency, label(&times.group)));
    for (lengths, label) in threads.chain([(&report.latency, "all threads".to_owned())]) {
        if lengths.count() == 0 {
            continue;
        }
        let mut cells = vec![lengths.count().to_string()];
        cells.extend(PERCENTILES.map(|(_, quantile)| human_nanos(lengths.quantile(quantile))));
        cells.extend([human_nanos(lengths.max()), label]);
        table.push(cells);
    }
    table
}

fn preemptions(pairs: &[Preemption]) -> Table {
    let mut table = Table::new(vec!["count", "off-cpu", "thread", "first by"], 2);
    for pair in pairs {
        let by = pair.by.as_ref().map_or_else(|| "idle".to_owned(), label);
        let waited = human_nanos(pair.nanos);
        table.push(vec![pair.count.to_string(), waited, label(&pair.thread), by]);
    }
    table
}

fn warn(args: &StatsArgs, report: &Scheduling) {
    if let Some(missing) = switches::missing(report.missing, report.damage.is_none()) {
        say(&format!("{}: {missing}", args.file.display()));
    }
    if report.is_too_long {
        say("too many scheduling records, the last ones are not counted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let sorted =
            ["a 2", "a 9 (7)", "a 9 (10)", "a 010", "a 18446744073709551616", "a b", "b 1"];
        assert!(sorted.is_sorted_by_key(|text| natural(text)));
        assert!(natural("worker 10") > natural("worker 9"));
    }
}
