//! `trace top`

mod live;

use std::path::Path;

use anyhow::{bail, Result};
use serde_json::json;
use trace_analyze::stats::{self, Grouping, Report, Row};

use crate::args::SortBy;
use crate::cli::TopArgs;
use crate::input::SelectedThreads;
use crate::known::{hint_to_others, refuse_unknown};
use crate::message::{counted, HINT};
use crate::rows;
use crate::table::{self, human_nanos, Table};
use crate::unreadable::explained;
use crate::{damage, say, switches};

pub(crate) fn run(args: &TopArgs) -> Result<u8> {
    match &args.file {
        Some(path) if !args.live => of_archive(args, path),
        _ => live::run(args),
    }
}

fn of_archive(args: &TopArgs, path: &Path) -> Result<u8> {
    let by: Grouping = args.by.map(Into::into).unwrap_or_default();
    let (mut report, code) = read(args, path, by)?;
    let filter = args.selection.filter();
    damage::warn_counts(path, &damage::of_durations(&report.oddities));
    damage::warn_counts(path, &[damage::of_names(&report), damage::of_schedule(&report)]);
    let code = code.max(damage::warn(path, &report.damage));
    report.durations.retain(|row| filter.matches(&row.category, &row.name));
    if report.durations.is_empty() {
        if !args.selection.is_all() {
            bail!("{} has no selected durations{HINT}trace stats shows all kinds", path.display());
        }
        bail!("{} has no durations{}", path.display(), hint_to_others(path)?);
    }
    rows::sort(&mut report.durations, SortBy::Own);
    let all: u64 = report.durations.iter().map(|row| row.self_nanos).fold(0, u64::saturating_add);
    let rest = report.durations.len().saturating_sub(args.limit);
    report.durations.truncate(args.limit);
    if args.json {
        let durations = report.to_json()["durations"].take();
        let json = json!({ "self_ns": all, "durations": durations });
        table::print(&(serde_json::to_string_pretty(&json)? + "\n"))?;
    } else {
        table::print(&text(&report.durations, all))?;
        if rest > 0 {
            let rows = counted(rest as u64, "more row", "more rows");
            say(&format!("{rows}{HINT}--limit {} shows them", args.limit + rest));
        }
    }
    Ok(code)
}

/// Returns the statistics of the selected threads, with times on a processor if they are recorded,
/// and the exit code for what is unreadable otherwise.
fn read(args: &TopArgs, path: &Path, by: Grouping) -> Result<(Report, u8)> {
    let input = SelectedThreads::new(path, &args.selection)?;
    let file = input.selected();
    let mut report = explained(path, stats::collect(file.open()?, by, None))?;
    refuse_unknown(path, &input.whole, &args.selection, rows::labels(&report.durations))?;
    if let Some(schedule) = switches::schedule(path, Some(file), &report)? {
        report = explained(path, stats::collect(file.open()?, by, Some(&schedule)))?;
    }
    Ok((report, input.code))
}

fn text(shown: &[Row], all: u64) -> String {
    let with_cpu = shown.iter().any(|row| row.on_cpu_nanos.is_some());
    let mut heads = vec!["self", "share", "count", "total"];
    heads.extend(with_cpu.then_some("on-cpu"));
    heads.extend(["mean", "name"]);
    let numbers = heads.len() - 1;
    heads.extend(shown.iter().any(|row| row.group.is_some()).then_some("by"));
    let mut table = Table::new(heads, numbers);
    for row in shown {
        let share = row.self_nanos as f64 * 100.0 / all.max(1) as f64;
        let mut cells = vec![
            human_nanos(row.self_nanos),
            format!("{share:.1}%"),
            row.lengths.count().to_string(),
            human_nanos(row.lengths.sum()),
        ];
        cells.extend(with_cpu.then(|| row.on_cpu_nanos.map_or("-".to_owned(), human_nanos)));
        cells.extend([human_nanos(row.lengths.mean()), rows::label(row)]);
        cells.extend(row.group.as_ref().map(rows::group_label));
        table.push(cells);
    }
    table.text()
}
