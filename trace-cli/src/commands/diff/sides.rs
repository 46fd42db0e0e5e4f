//! Reading the archives of `trace diff`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{json, Value};
use trace_analyze::catalog::Catalog;
use trace_analyze::contents;
use trace_analyze::diff::{self, Measure};
use trace_analyze::stats::{By, Grouping, Groups, Report, Row};
use trace_convert::visible;

use crate::cli::DiffArgs;
use crate::input::SelectedThreads;
use crate::message::HINT;
use crate::table::human_nanos;
use crate::unreadable::explained;
use crate::{damage, exit, input, rows, say, unmatched};

/// Reads the selected threads of archives. Returns the exit code for what is unreadable otherwise.
pub(super) fn read_all(args: &DiffArgs, paths: &[PathBuf]) -> Result<(Vec<Report>, u8)> {
    let mut unreadable = exit::OK;
    let mut read = |path: &PathBuf| {
        let (report, code) = read(args, path)?;
        unreadable = unreadable.max(code);
        Ok(report)
    };
    let reports = paths.iter().map(&mut read).collect::<Result<_>>()?;
    Ok((reports, unreadable))
}

fn read(args: &DiffArgs, path: &Path) -> Result<(Report, u8)> {
    let measure = if args.own { Measure::SelfTime } else { Measure::Length };
    let input = SelectedThreads::new(path, &args.selection)?;
    let selected = input.selected().open()?;
    let report = match &args.by {
        None => diff::read(selected, Grouping::Together, measure),
        // The operations of polls are read first.
        Some(key) => {
            let groups = explained(path, Groups::read(By::Argument(key), input.whole.open()?))?;
            diff::read(selected, groups, measure)
        }
    };
    Ok((explained(path, report)?, input.code))
}

/// Drops the rows that are not selected.
pub(super) fn select(args: &DiffArgs, report: &mut Report) {
    let filter = args.selection.filter();
    for rows in [&mut report.durations, &mut report.operations, &mut report.flows] {
        rows.retain(|row| filter.matches(&row.category, &row.name));
    }
}

/// Fails if no archive has an event of a selected category or name, or with the argument of `--by`.
pub(super) fn refuse_unknown(args: &DiffArgs, archives: &[(&PathBuf, &Report)]) -> Result<()> {
    let found = || archives.iter().flat_map(|(_, report)| rows::labels(rows_of(report)));
    if !unmatched::is_none(&args.selection, found()) {
        // The reports have the events of the selected threads only.
        let files = archives.iter().filter(|(path, _)| input::is_file(path));
        let read =
            |(path, _): &(&PathBuf, &Report)| explained(path, contents::labels(input::open(path)?));
        let catalogs = files.map(read).collect::<Result<Vec<_>>>()?;
        let all = catalogs.iter().flat_map(Catalog::label_texts).chain(found());
        unmatched::refuse(&args.selection, all)?;
    }
    args.by.as_ref().map_or(Ok(()), |key| refuse_unknown_argument(key, archives))
}

fn refuse_unknown_argument(key: &str, archives: &[(&PathBuf, &Report)]) -> Result<()> {
    let lacks = |(_, report): &&(&PathBuf, &Report)| unmatched::has_no_value(rows_of(report));
    let lacking: Vec<&PathBuf> = archives.iter().filter(lacks).map(|(path, _)| *path).collect();
    let Some(first) = lacking.first() else { return Ok(()) };
    let (number, all) = (lacking.len(), archives.len());
    if number == all {
        return Err(unmatched::no_argument(first, key));
    }
    let (first, key) = (first.display(), visible(key));
    let more = if number > 1 { ", …" } else { "" };
    say(&format!("no event has the argument '{key}' in {number} of {all} archives: {first}{more}"));
    Ok(())
}

fn rows_of(report: &Report) -> impl Iterator<Item = &Row> + Clone {
    let rows = report.durations.iter().chain(&report.operations).chain(&report.flows);
    rows.chain(&report.instants)
}

/// Reports what an archive lacks.
pub(super) fn warn(path: &Path, report: &Report) -> u8 {
    damage::warn_counts(path, &damage::of_durations(&report.oddities));
    damage::warn_counts(path, &damage::of_operations(&report.unpaired_operations));
    damage::warn_counts(path, &damage::of_flows(&report.unpaired_flows));
    warn_of_names(path, report);
    damage::warn_counts(
        path,
        &[
            ("events of values beyond the first 1000, not compared", report.other_values),
            damage::of_values(report),
        ],
    );
    damage::warn(path, &report.damage)
}

/// Reports the names that are not compared, because an archive has too many.
fn warn_of_names(path: &Path, report: &Report) {
    damage::warn_counts(path, &[("too many names, not compared", report.joined.len())]);
    let (names, nanos) = long_joined(report);
    if names > 0 {
        say(&format!(
            "{}: names with much time, not compared: {names}, {} in total{HINT}list them with --all, \
             extract them with `trace slice -c` or `-n`",
            path.display(),
            human_nanos(nanos)
        ));
    }
}

/// Returns the number and total time of the rows that have no lengths, but much time.
fn long_joined(report: &Report) -> (u64, u64) {
    let rows = report.durations.iter().chain(&report.operations).chain(&report.flows);
    let joined = rows.map(|row| row.joined_nanos).filter(|nanos| *nanos > 0);
    joined.fold((0, 0), |(names, sum), nanos| (names + 1, sum.saturating_add(nanos)))
}

/// Returns the names of an archive that are not compared, and those with much time among them.
pub(super) fn not_compared(report: &Report) -> Value {
    let (names, nanos) = long_joined(report);
    json!({
        "names": report.joined.len(),
        "total_ns": report.joined.nanos(),
        "long": { "names": names, "total_ns": nanos },
    })
}
