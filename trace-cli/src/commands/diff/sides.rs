//! Reading the archives of `trace diff`.

use std::path::Path;

use anyhow::Result;
use serde_json::{json, Value};
use trace_analyze::diff::{self, Measure};
use trace_analyze::stats::{By, Grouping, Groups, Report};

use crate::cli::DiffArgs;
use crate::damage::explained;
use crate::input::Spill;
use crate::message::HINT;
use crate::table::human_nanos;
use crate::{damage, input, say, unmatched};

/// Reads the selected events of an archive.
pub(super) fn read(args: &DiffArgs, path: &Path) -> Result<(Report, u8)> {
    let filter = args.selection.filter();
    let measure = if args.own { Measure::SelfTime } else { Measure::Length };
    let (report, code) = match &args.by {
        None => {
            let (reader, code) = input::open_threads(path, &args.selection)?;
            (diff::read(reader, Grouping::Together, measure), code)
        }
        // The operations of polls are read first.
        Some(key) => {
            let (input, code) = input::of_threads(path, Spill::new(path)?, &args.selection)?;
            let groups = explained(path, Groups::read(By::Argument(key), input.open()?))?;
            (diff::read(input.open()?, groups, measure), code)
        }
    };
    let mut report = explained(path, report)?;
    if let Some(key) = &args.by {
        let rows = report.durations.iter().chain(&report.operations).chain(&report.flows);
        unmatched::warn_of_argument(path, key, rows);
    }
    for rows in [&mut report.durations, &mut report.operations, &mut report.flows] {
        rows.retain(|row| filter.matches(&row.category, &row.name));
    }
    Ok((report, code))
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
