//! `trace diff`

use std::path::{Path, PathBuf};
use std::slice;

use anyhow::{bail, Result};
use serde_json::{json, Value};
use trace_analyze::diff::{self, Change, Options, Verdict};
use trace_analyze::stats::{Distribution, Report};
use trace_convert::visible;
use trace_protocol::categories::CategorySet;

use crate::cli::DiffArgs;
use crate::damage::explained;
use crate::input::STANDARD;
use crate::message::HINT;
use crate::table::{self, human_nanos, Table};
use crate::{damage, exit, input, say, unmatched};

/// The least number of archives a side that shows how runs differ.
const MIN_ARCHIVES: usize = 3;

/// The table's columns.
const HEADS: [&str; 10] = [
    "change",
    "p",
    "p50 before",
    "p50 after",
    "mean before",
    "mean after",
    "count before",
    "count after",
    "verdict",
    "name",
];

pub(crate) fn run(args: &DiffArgs) -> Result<u8> {
    let (before, after) = sides(args)?;
    let categories = CategorySet::new(&args.categories);
    let read = |path: &PathBuf| read(path, &categories);
    let read_all = |paths: &[PathBuf]| paths.iter().map(read).collect::<Result<Vec<Report>>>();
    let (reports_before, reports_after) = (read_all(before)?, read_all(after)?);
    let limit = args.fail_over.unwrap_or(f64::INFINITY);
    let threshold = args.threshold.min(limit);
    let options = Options { threshold, significance: args.significance };
    let changes = diff::compare(&reports_before, &reports_after, &options);
    let is_over = |change: &&Change| {
        change.verdict == Verdict::Slower && change.change.is_some_and(|change| change > limit)
    };
    let over: Vec<&Change> = changes.iter().filter(is_over).collect();
    table::print(&match args.json {
        true => json(&changes, over.len())?,
        false => text(args, &changes),
    })?;
    let paths = before.iter().chain(after);
    let reports = || reports_before.iter().chain(&reports_after);
    let code = paths.zip(reports()).map(|(path, report)| warn(path, report)).max();
    let found = reports().flat_map(|report| report.categories.iter().cloned()).collect();
    unmatched::warn(&categories, &found);
    let code = code.unwrap_or(exit::OK).max(warn_if_uncompared(&changes));
    if args.fail_over.is_some() {
        warn_about_doubts(&changes, threshold);
    }
    for change in &over {
        let percent = percent(change.change);
        say(&format!("{} became slower by {percent}, more than --fail-over allows", label(change)));
    }
    Ok(if over.is_empty() { code } else { exit::SLOWER })
}

/// Returns the archives of before and of after.
fn sides(args: &DiffArgs) -> Result<(&[PathBuf], &[PathBuf])> {
    let (before, after) = match &args.files[..] {
        [before, after] => (slice::from_ref(before), slice::from_ref(after)),
        _ => (&args.before[..], &args.after[..]),
    };
    let standard = before.iter().chain(after).filter(|path| *path == Path::new(STANDARD));
    if standard.count() > 1 {
        bail!("standard input is given twice{HINT}name a file");
    }
    let (least, most) = (before.len().min(after.len()), before.len().max(after.len()));
    if most > 1 && least < MIN_ARCHIVES {
        bail!(
            "cannot compare {} archives with {}{HINT}pass one archive a side, or at least {MIN_ARCHIVES}",
            before.len(),
            after.len()
        );
    }
    Ok((before, after))
}

/// Reads the selected categories of an archive.
fn read(path: &Path, categories: &CategorySet) -> Result<Report> {
    let mut report = explained(path, diff::read(input::open(path)?))?;
    for rows in [&mut report.durations, &mut report.operations, &mut report.flows] {
        rows.retain(|row| categories.matches(&row.category));
    }
    Ok(report)
}

/// Reports what an archive lacks.
fn warn(path: &Path, report: &Report) -> u8 {
    damage::warn_counts(path, &damage::of_durations(&report.oddities));
    damage::warn_counts(path, &damage::of_operations(&report.unpaired_operations));
    damage::warn_counts(path, &damage::of_flows(&report.unpaired_flows));
    damage::warn(path, &report.damage)
}

/// Reports if nothing can be compared, so that it is not taken for success.
fn warn_if_uncompared(changes: &[Change]) -> u8 {
    let (new, gone) = (count(changes, Verdict::New), count(changes, Verdict::Gone));
    if new + gone < changes.len() {
        return exit::OK;
    }
    say(&format!(
        "nothing was compared: no row is in both archives: {gone} only before, {new} only after"
    ));
    exit::INCOMPLETE
}

/// Reports rows that may have become slower unnoticed.
fn warn_about_doubts(changes: &[Change], threshold: f64) {
    let (unclear, gone) = (count(changes, Verdict::Unclear), count(changes, Verdict::Gone));
    if unclear > 0 {
        say(&format!(
            "unclear rows: {unclear} (too rare, too short or too variable to detect a change of \
             {}){HINT}record several archives a side (--before, --after)",
            percent(Some(threshold))
        ));
    }
    if gone > 0 {
        say(&format!("gone rows, not compared: {gone}{HINT}list them with --all"));
    }
}

fn json(changes: &[Change], over: usize) -> Result<String> {
    let rows: Vec<Value> = changes.iter().map(Change::to_json).collect();
    Ok(serde_json::to_string_pretty(&json!({ "changes": rows, "over": over }))? + "\n")
}

fn text(args: &DiffArgs, changes: &[Change]) -> String {
    let mut table = Table::new(HEADS.to_vec(), 8);
    let is_shown =
        |change: &&Change| args.all || matches!(change.verdict, Verdict::Slower | Verdict::Faster);
    for change in changes.iter().filter(is_shown) {
        let (before, after) = (&change.before, &change.after);
        table.push(vec![
            percent(change.change),
            change.p.map_or("-".to_owned(), probability),
            of_some(before, |lengths| human_nanos(lengths.quantile(0.5))),
            of_some(after, |lengths| human_nanos(lengths.quantile(0.5))),
            of_some(before, |lengths| human_nanos(lengths.mean())),
            of_some(after, |lengths| human_nanos(lengths.mean())),
            of_some(before, |lengths| lengths.count().to_string()),
            of_some(after, |lengths| lengths.count().to_string()),
            change.verdict.as_str().to_owned(),
            label(change),
        ]);
    }
    let mut text = if table.is_empty() { String::new() } else { table.text() };
    text.push_str(&format!(
        "{} slower, {} faster, {} alike, {} unclear, {} new, {} gone\n",
        count(changes, Verdict::Slower),
        count(changes, Verdict::Faster),
        count(changes, Verdict::Alike),
        count(changes, Verdict::Unclear),
        count(changes, Verdict::New),
        count(changes, Verdict::Gone),
    ));
    text
}

/// Returns a cell about lengths, or `-` if there are none.
fn of_some(lengths: &Distribution, cell: impl Fn(&Distribution) -> String) -> String {
    match lengths.count() {
        0 => "-".to_owned(),
        _ => cell(lengths),
    }
}

fn count(changes: &[Change], verdict: Verdict) -> usize {
    changes.iter().filter(|change| change.verdict == verdict).count()
}

/// Returns a probability, or an upper bound for a tiny one.
fn probability(p: f64) -> String {
    match p < 1e-99 {
        true => "<1e-99".to_owned(),
        false => format!("{p:.1e}"),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:+.1}%", share * 100.0))
}

fn label(change: &Change) -> String {
    let (category, name) = (visible(&change.category), visible(&change.name));
    match change.kind {
        diff::Kind::Duration => format!("{category}:{name}"),
        kind => format!("{category}:{name} ({})", kind.as_str()),
    }
}
