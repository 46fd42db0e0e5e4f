//! `trace stats`

mod moment;
mod rows;
mod sched;
mod slowest;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;
use trace_analyze::extent::{self, Extent};
use trace_analyze::parents::Parents;
use trace_analyze::schedule::Schedule;
use trace_analyze::stats::{self, By, Grouping, Groups, Report};

use crate::args::{SortBy, StatsBy};
use crate::cli::StatsArgs;
use crate::damage::explained;
use crate::input::Spill;
use crate::rows::sort;
use crate::table::{self, Table};
use crate::{damage, exit, input, say, unmatched};

pub(crate) fn run(args: &StatsArgs) -> Result<u8> {
    if args.slowest.is_some() || args.at.is_some() {
        return slowest::run(args);
    }
    if args.sched {
        return sched::run(args);
    }
    let (mut report, seconds, code) = read(args)?;
    let names = names(args, &report);
    if let Some(StatsBy::Argument(key)) = &args.by {
        let rows = report.durations.iter().chain(&report.operations).chain(&report.flows);
        unmatched::warn_of_argument(&args.file, key, rows.chain(&report.instants));
    }
    arrange(args, &mut report);
    let text = if args.json {
        json(&report)?
    } else if args.csv {
        rows::csv(args, &report)
    } else {
        rows::text(args, &report, seconds)
    };
    table::print(&text)?;
    let filter = args.selection.filter();
    if !unmatched::warn(&filter.categories, &report.categories) {
        unmatched::warn_of_names(&filter.names, &names);
    }
    warn(args, &report);
    Ok(code.max(damage::warn(&args.file, &report.damage)))
}

/// Reads the selected threads. Returns the time of `--rate` in seconds, and the exit code for what
/// is unreadable otherwise.
fn read(args: &StatsArgs) -> Result<(Report, Option<f64>, u8)> {
    let path = &args.file;
    let is_read_twice = input::is_file(path)
        || args.rate
        || matches!(args.by, Some(StatsBy::Parent | StatsBy::Argument(_)))
        || !args.arg.is_empty()
        || !args.selection.thread.is_empty();
    if !is_read_twice {
        return Ok((collect(args, None)?, None, exit::OK));
    }
    let input = Spill::new(path)?;
    let seconds = if args.rate { seconds(path, &input)? } else { None };
    let (file, code) = input::of_threads(path, input, &args.selection)?;
    Ok((collect(args, Some(&file))?, seconds, code))
}

/// Returns the time from the first event to the last one, unless it is 0.
fn seconds(path: &Path, file: &Spill<'_>) -> Result<Option<f64>> {
    let Extent { start, end, .. } = explained(path, extent::read(file.open()?))?;
    let nanos = end.zip(start).map(|(end, start)| end.saturating_sub(start));
    Ok(nanos.filter(|nanos| *nanos > 0).map(|nanos| nanos as f64 / 1e9))
}

/// Reads the statistics. `file` is the input if it can be read twice.
fn collect(args: &StatsArgs, file: Option<&Spill<'_>>) -> Result<Report> {
    let path = &args.file;
    let open = || file.map_or_else(|| input::open(path), Spill::open);
    let parents = match args.by {
        Some(StatsBy::Parent) => explained(path, Parents::read(open()?))?,
        _ => Parents::default(),
    };
    let by = match &args.by {
        None if !args.arg.is_empty() => By::Conditions(&args.arg),
        None => Grouping::Together.into(),
        Some(StatsBy::Group(group)) => By::Group((*group).into()),
        Some(StatsBy::Argument(key)) => By::Argument(key),
        Some(StatsBy::Parent) => By::Parent(&parents),
    };
    damage::warn_counts(
        path,
        &[("operations with an unknown parent, too many", parents.unknown())],
    );
    let groups = match by {
        By::Argument(_) | By::Conditions(_) => explained(path, Groups::read(by, open()?))?,
        by => Groups::from(by),
    };
    let collect = |schedule: Option<&Schedule>| {
        let (reader, groups) = (open()?, groups.clone());
        explained(
            path,
            match over(args) {
                None => stats::collect(reader, groups, schedule),
                Some(nanos) => stats::collect_over(reader, groups, schedule, nanos),
            },
        )
    };
    let report = collect(None)?;
    if report.context_switches == 0 {
        return Ok(report);
    }
    // The schedule of a thread is known only at the end of the archive.
    if file.is_none() {
        say("time on a processor is not computed for a pipe\nhint: pass the archive as a file");
        return Ok(report);
    }
    let schedule = explained(path, Schedule::read(open()?))?;
    if schedule.is_too_long() {
        say("too many scheduling records to compute the time on a processor");
        return Ok(report);
    }
    collect(Some(&schedule))
}

/// Returns the names of the selected categories.
fn names(args: &StatsArgs, report: &Report) -> BTreeSet<String> {
    let categories = args.selection.filter().categories;
    let rows = [&report.durations, &report.operations, &report.flows, &report.instants];
    let rows = rows.into_iter().flatten().map(|row| (&row.category, &row.name));
    let counters = report.counters.iter().map(|row| (&row.category, &row.name));
    let selected = rows.chain(counters).filter(|(category, _)| categories.matches(category));
    selected.map(|(_, name)| name.clone()).collect()
}

/// Returns the nanoseconds of `--over`.
fn over(args: &StatsArgs) -> Option<u64> {
    args.over.map(|over| u64::try_from(over.as_nanos()).unwrap_or(u64::MAX))
}

/// Drops unselected rows, and sorts and limits the rows.
fn arrange(args: &StatsArgs, report: &mut Report) {
    let filter = args.selection.filter();
    let limit = args.limit.unwrap_or(usize::MAX);
    // Instants have no length, so they are sorted by count.
    let of_instants = if args.sort == SortBy::Name { SortBy::Name } else { SortBy::Count };
    for (rows, by) in [
        (&mut report.durations, args.sort),
        (&mut report.operations, args.sort),
        (&mut report.flows, args.sort),
        (&mut report.instants, of_instants),
    ] {
        rows.retain(|row| filter.matches(&row.category, &row.name));
        sort(rows, by);
        rows.truncate(limit);
    }
    report.counters.retain(|row| filter.matches(&row.category, &row.name));
    if args.over.is_some() {
        // They have no length.
        report.instants.clear();
        report.counters.clear();
    }
    report.counters.truncate(limit);
}

fn json(report: &Report) -> Result<String> {
    let value: Value = report.to_json();
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

/// Reports unpaired and malformed data.
fn warn(args: &StatsArgs, report: &Report) {
    let of_durations = [
        &damage::of_durations(&report.oddities)[..],
        &[("durations far out of order, SELF may be wrong", report.oddities.misplaced)],
        &damage::of_operations(&report.unpaired_operations),
    ]
    .concat();
    let of_values = [
        ("events in rows of other values", report.other_values),
        damage::of_values(report),
        damage::of_names(report),
    ];
    damage::warn_counts(&args.file, &of_values);
    let of_flows = damage::of_flows(&report.unpaired_flows);
    let of_counters =
        [("counter values that are not numbers, skipped", report.counter_values_left_out)];
    let counts = match (args.json, args.counters, args.flows) {
        (true, ..) => [&of_durations[..], &of_flows, &of_counters].concat(),
        (_, true, _) => of_counters.into(),
        (.., true) => of_flows.into(),
        _ if args.instants => Vec::new(),
        _ => of_durations,
    };
    damage::warn_counts(&args.file, &counts);
}

/// Appends a heading and a table, if the table has rows.
fn section(text: &mut String, heading: &str, table: &Table) {
    if table.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(heading);
    text.push('\n');
    text.push_str(&table.text());
}
