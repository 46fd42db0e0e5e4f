//! `trace stats`

mod at;
mod functions;
mod instances;
mod moment;
mod rows;
mod sched;
mod slowest;
mod states;

use std::io::Read;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use serde_json::Value;
use trace_analyze::extent::{self, Extent};
use trace_analyze::parents::Parents;
use trace_analyze::schedule::Schedule;
use trace_analyze::stats::{self, By, Grouping, Groups, Report, Row};
use trace_convert::visible;
use trace_format::Reader;

use crate::args::{SortBy, SortedTable, StatsBy};
use crate::cli::StatsArgs;
use crate::input::{SelectedThreads, Spill};
use crate::message::HINT;
use crate::names::Names;
use crate::rows::sort;
use crate::table::{self, Table};
use crate::times::length;
use crate::unreadable::{explained, Failed};
use crate::{damage, exit, input, known, say, switches, unmatched};

pub(crate) fn run(args: &StatsArgs) -> Result<u8> {
    if args.inherit && !matches!(args.by, Some(StatsBy::Argument(_))) {
        say(&format!("--inherit has no argument to inherit{HINT}use it with --by arg:KEY"));
        return Ok(exit::USAGE);
    }
    let table = sorted_table(args);
    if let Some(by) = args.sort.filter(|by| !by.is_column(table)) {
        refuse_column(by, table);
        return Ok(exit::USAGE);
    }
    match (args.at, args.slowest) {
        (Some(at), _) => return at::run(args, at),
        (None, Some(number)) => return slowest::run(args, number),
        (None, None) => {}
    }
    match table {
        SortedTable::Durations => {}
        SortedTable::Threads => return sched::run(args),
        SortedTable::Functions => return functions::run(args),
    }
    let input = is_read_twice(args).then(|| SelectedThreads::new(&args.file, &args.selection));
    let input = input.transpose()?;
    let whole = input.as_ref().map(|input| &input.whole);
    let seconds =
        whole.filter(|_| args.rate).map(|whole| seconds(&args.file, whole)).transpose()?;
    let mut report = collect(args, input.as_ref())?;
    if let Some(whole) = whole {
        refuse_unknown(args, whole, &report)?;
    }
    let long = report.durations.iter().chain(&report.operations).chain(&report.flows);
    let short = short(args, crate::rows::labels(long));
    let hint = hint_to_inherit(args, &report);
    arrange(args, &mut report);
    let text = if args.json {
        json(&report)?
    } else if args.csv {
        rows::csv(args, &report)
    } else {
        rows::text(args, &report, seconds.flatten())
    };
    table::print(&text)?;
    let is_all = args.selection.is_all() && args.arg.is_empty() && args.over.is_none();
    if text == rows::NOTHING && is_all {
        let hint = known::hint_to_others(&args.file)?;
        if !hint.is_empty() {
            say(&format!("{} has no such events{hint}", args.file.display()));
        }
    }
    short.iter().chain(&hint).for_each(|message| say(message));
    warn(args, &report);
    let code = input.map_or(exit::OK, |input| input.code);
    Ok(code.max(damage::warn(&args.file, &report.damage)))
}

/// Returns the table that `--sort` is for.
fn sorted_table(args: &StatsArgs) -> SortedTable {
    match args {
        StatsArgs { sched: true, .. } => SortedTable::Threads,
        StatsArgs { samples: true, .. } => SortedTable::Functions,
        _ => SortedTable::Durations,
    }
}

/// Reports that a table has no such column.
fn refuse_column(by: SortBy, table: SortedTable) {
    let name = by.to_possible_value().map(|value| value.get_name().to_owned());
    let name = name.unwrap_or_default();
    let (table, hint) = match table {
        SortedTable::Threads => ("threads", "use --sched --sort run"),
        SortedTable::Functions => ("functions", "use --samples --sort total"),
        SortedTable::Durations => ("durations", "add --sched, or use --sort total"),
    };
    say(&format!("{name} is no column of the table of {table}{HINT}{hint}"));
}

/// Returns whether the input has to be opened more than once.
fn is_read_twice(args: &StatsArgs) -> bool {
    input::is_file(&args.file)
        || args.rate
        || matches!(args.by, Some(StatsBy::Parent | StatsBy::Argument(_)))
        || !args.arg.is_empty()
        || !args.selection.is_all()
}

/// Fails if the archive has no event of a selected category or name, or with the argument of
/// `--by`.
fn refuse_unknown(args: &StatsArgs, whole: &Spill<'_>, report: &Report) -> Result<()> {
    let path = &args.file;
    known::refuse_unknown(path, whole, &args.selection, labels(report))?;
    let Some(StatsBy::Argument(key)) = &args.by else { return Ok(()) };
    let rows = report.durations.iter().chain(&report.operations).chain(&report.flows);
    if unmatched::has_no_value(rows.chain(&report.instants)) {
        known::refuse_unknown_argument(path, whole, key)?;
    }
    Ok(())
}

/// Returns a message if no row that is printed without `--limit` has a value of the argument of
/// `--by`, which other events have.
fn hint_to_inherit(args: &StatsArgs, report: &Report) -> Option<String> {
    let Some(StatsBy::Argument(key)) = &args.by else { return None };
    let filter = args.selection.filter();
    let rows = printed(args, report).filter(|row| filter.matches(&row.category, &row.name));
    let is_for = !args.inherit && unmatched::has_no_value(rows);
    let key = visible(key);
    let hint = "--inherit uses that of the durations and operations around them";
    is_for.then(|| format!("no event of these rows has the argument '{key}'{HINT}{hint}"))
}

/// Returns the rows of the printed tables, except counters.
fn printed<'a>(args: &StatsArgs, report: &'a Report) -> impl Iterator<Item = &'a Row> {
    let Report { durations, operations, flows, instants, .. } = report;
    let none: &[Row] = &[];
    let tables: [&[Row]; 4] = match args {
        StatsArgs { json: true, .. } => [durations, operations, flows, instants],
        StatsArgs { counters: true, .. } => [none; 4],
        StatsArgs { flows: true, .. } => [flows, none, none, none],
        StatsArgs { instants: true, .. } => [instants, none, none, none],
        _ => [durations, operations, none, none],
    };
    tables.into_iter().flatten()
}

/// Returns the categories and names of all rows.
fn labels(report: &Report) -> impl Iterator<Item = (&str, &str)> + Clone {
    let rows = report.durations.iter().chain(&report.operations).chain(&report.flows);
    let counters = report.counters.iter().map(|row| (&*row.category, &*row.name));
    crate::rows::labels(rows.chain(&report.instants)).chain(counters)
}

/// Returns messages about the selected names whose durations, operations and flows are not longer
/// than `--over`.
fn short<'a>(
    args: &StatsArgs,
    labels: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Vec<String> {
    let (Some(over), filter) = (args.over, args.selection.filter()) else { return Vec::new() };
    let is_short = |name: &&str| {
        let names = Names::of(name);
        let is_long = |(category, name)| names.matches(category, name);
        !labels.clone().filter(|it| filter.categories.matches(it.0)).any(is_long)
    };
    let message = |name| format!("no '{}' takes longer than {}", visible(name), length(over));
    filter.names.exact().filter(is_short).map(message).collect()
}

/// Returns the time from the first event to the last one, unless it is 0.
fn seconds(path: &Path, file: &Spill<'_>) -> Result<Option<f64>> {
    let Extent { start, end, .. } = explained(path, extent::read(file.open()?))?;
    let nanos = end.zip(start).map(|(end, start)| end.saturating_sub(start));
    Ok(nanos.filter(|nanos| *nanos > 0).map(|nanos| nanos as f64 / 1e9))
}

/// Reads the statistics of the selected threads. `input` is `None` if it can be read once only.
fn collect(args: &StatsArgs, input: Option<&SelectedThreads<'_>>) -> Result<Report> {
    let path = &args.file;
    let whole = || input.map_or_else(|| input::open(path), |input| input.whole.open());
    let parents = match args.by {
        Some(StatsBy::Parent) => explained(path, Parents::read(whole()?))?,
        _ => Parents::default(),
    };
    damage::warn_counts(
        path,
        &[("operations with an unknown parent, too many", parents.unknown())],
    );
    let groups = groups(args, &parents, whole)?;
    let file = input.map(SelectedThreads::selected);
    let open = || file.map_or_else(|| input::open(path), Spill::open);
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
    match switches::schedule(path, file, &report)? {
        Some(schedule) => collect(Some(&schedule)),
        None => Ok(report),
    }
}

/// Returns the groups of rows. `whole` opens all threads: a thread can poll an operation that began
/// on another one.
fn groups<'a>(
    args: &'a StatsArgs,
    parents: &'a Parents,
    whole: impl Fn() -> Result<Reader<Box<dyn Read>>>,
) -> Result<Groups<'a>> {
    let path = &args.file;
    let by = match &args.by {
        None if args.arg.is_empty() => return Ok(Grouping::Together.into()),
        None => By::Conditions(&args.arg),
        Some(StatsBy::Group(group)) => return Ok(Grouping::from(*group).into()),
        Some(StatsBy::Parent) => return Ok(By::Parent(parents).into()),
        Some(StatsBy::Argument(key)) if args.inherit => {
            let groups = Groups::read_inherited(key, || Ok::<_, Failed>(whole()?));
            return groups.or_else(|error| error.explained(path));
        }
        Some(StatsBy::Argument(key)) => By::Argument(key),
    };
    explained(path, Groups::read(by, whole()?))
}

/// Returns the number of rows that `--slowest` or `--limit` selects.
fn most(args: &StatsArgs) -> Option<usize> {
    args.slowest.or(args.limit)
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
    let by = args.sort.unwrap_or(SortBy::Total);
    let of_instants = if by == SortBy::Name { SortBy::Name } else { SortBy::Count };
    for (rows, by) in [
        (&mut report.durations, by),
        (&mut report.operations, by),
        (&mut report.flows, by),
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
        &[damage::misplaced(&report.oddities)],
        &damage::of_operations(&report.unpaired_operations),
    ]
    .concat();
    let inherited = printed(args, report).map(|row| row.inherited).sum();
    let of_values = [
        ("events with the value of a duration or operation around them", inherited),
        ("events in rows of other values", report.other_values),
        damage::of_values(report),
        damage::of_names(report),
        damage::of_schedule(report),
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
