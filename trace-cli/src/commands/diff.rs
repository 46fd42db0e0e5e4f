//! `trace diff`

mod sides;

use std::path::{Path, PathBuf};
use std::slice;

use anyhow::{bail, Result};
use serde_json::{json, Value};
use trace_analyze::diff::{self, Change, Effect, Options, Verdict};
use trace_analyze::stats::{Distribution, Report};
use trace_convert::visible;

use crate::cli::DiffArgs;
use crate::input::STANDARD;
use crate::message::{counted, HINT};
use crate::table::{self, human_nanos, Table};
use crate::{exit, say};

/// The least number of archives a side that shows how runs differ.
const MIN_ARCHIVES: usize = 3;

/// The columns of the percentiles.
const LENGTHS: [&str; 5] = ["p50 before", "p50 after", "p50 difference", "p99 before", "p99 after"];

/// The same with `--self`.
const SELF_TIMES: [&str; 5] = [
    "self p50 before",
    "self p50 after",
    "self p50 difference",
    "self p99 before",
    "self p99 after",
];

pub(crate) fn run(args: &DiffArgs) -> Result<u8> {
    let (before, after) = sides(args)?;
    let (mut reports_before, code_before) = sides::read_all(args, before)?;
    let (mut reports_after, code_after) = sides::read_all(args, after)?;
    let paths = || before.iter().chain(after);
    let archives: Vec<_> = paths().zip(reports_before.iter().chain(&reports_after)).collect();
    sides::refuse_unknown(args, &archives)?;
    let reports = reports_before.iter_mut().chain(&mut reports_after);
    reports.for_each(|report| sides::select(args, report));
    let changes = diff::compare(&reports_before, &reports_after, &options(args));
    table::print(&match args.json {
        true => json(args, &changes, reports_before.iter().chain(&reports_after))?,
        false => text(args, &changes),
    })?;
    report_left_out(args, &changes);
    let reports = reports_before.iter().chain(&reports_after);
    let code = paths().zip(reports).map(|(path, report)| sides::warn(path, report)).max();
    let code = code.unwrap_or(exit::OK).max(code_before).max(code_after);
    let code = code.max(warn_if_uncompared(&changes));
    Ok(code.max(warn_if_slower(args, &changes)))
}

fn options(args: &DiffArgs) -> Options {
    let threshold = args.threshold.min(args.fail_over.unwrap_or(f64::INFINITY));
    Options { threshold, significance: args.significance, run_noise: args.run_noise }
}

/// Returns the rows that are slower by more than is allowed.
fn over<'a>(args: &DiffArgs, changes: &'a [Change]) -> Vec<&'a Change> {
    let limit = args.fail_over.unwrap_or(f64::INFINITY);
    changes.iter().filter(|change| change.is_slower_than(limit)).collect()
}

/// Returns how many rows may have become slower by more than is allowed.
fn doubtful(args: &DiffArgs, changes: &[Change]) -> usize {
    match args.fail_over {
        Some(limit) => changes.iter().filter(|change| change.may_be_slower_than(limit)).count(),
        None => count(changes, Verdict::Unclear),
    }
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

/// Reports what `--fail-over` and `--fail-on-unclear` do not allow, and what may be that unnoticed.
fn warn_if_slower(args: &DiffArgs, changes: &[Change]) -> u8 {
    if args.fail_over.is_none() && !args.fail_on_unclear {
        return exit::OK;
    }
    let (over, doubtful) = (over(args, changes), doubtful(args, changes));
    if doubtful > 0 {
        let limit = percent(args.fail_over.unwrap_or(args.threshold));
        say(&format!(
            "rows that may be slower by more than {limit}: {doubtful}{HINT}list them with --all"
        ));
    }
    let rare = count(changes, Verdict::Rare);
    if rare > 0 {
        say(&format!("rows in too few runs, not compared: {rare}{HINT}list them with --all"));
    }
    let gone = count(changes, Verdict::Gone);
    if gone > 0 {
        say(&format!("gone rows, not compared: {gone}{HINT}list them with --all"));
    }
    for change in &over {
        let percent = interval(change.median);
        say(&format!(
            "{} became slower by {percent}, more than --fail-over allows",
            full_label(change)
        ));
    }
    match doubtful > 0 && args.fail_on_unclear {
        _ if !over.is_empty() => exit::SLOWER,
        true => exit::UNCLEAR,
        false => exit::OK,
    }
}

fn json<'a>(
    args: &DiffArgs,
    changes: &[Change],
    reports: impl Iterator<Item = &'a Report>,
) -> Result<String> {
    let rows: Vec<Value> = changes.iter().map(Change::to_json).collect();
    let (over, doubtful) = (over(args, changes).len(), doubtful(args, changes));
    let mut report = json!({ "changes": rows, "over": over, "may_be_over": doubtful });
    report["not_compared"] = reports.map(sides::not_compared).collect();
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

fn text(args: &DiffArgs, changes: &[Change]) -> String {
    let mut heads = vec!["change", "interval"];
    heads.extend(if args.own { SELF_TIMES } else { LENGTHS });
    heads.extend(["count before", "count after", "verdict", "name"]);
    heads.extend(args.by.as_ref().map(|_| "by"));
    let mut table = Table::new(heads, 9);
    shown(args, changes).take(limit(args)).for_each(|change| table.push(row(change)));
    let mut text = if table.is_empty() { String::new() } else { table.text() };
    let (slower, faster) = (count(changes, Verdict::Slower), count(changes, Verdict::Faster));
    text.push_str(&format!(
        "{slower} slower, {faster} faster, {} alike, {} unclear, {} minor, {} new, {} gone\n",
        count(changes, Verdict::Alike),
        count(changes, Verdict::Unclear),
        count(changes, Verdict::Minor),
        count(changes, Verdict::New),
        count(changes, Verdict::Gone),
    ));
    if slower + faster > 0 {
        // Four decimals, without the digits of binary fractions.
        let share = (args.significance * 1e6).round() / 1e4;
        text.push_str(&format!(
            "intervals: at most {share}% of the rows called slower or faster are so by chance\n"
        ));
    }
    let is_one = args.before.len().max(1) == 1;
    text.push_str(&advice(changes, is_one.then_some(args.run_noise)));
    let rare = count(changes, Verdict::Rare);
    if rare > 0 {
        text.push_str(&format!("rare: {rare} in too few runs, fewer than 3 of a side\n"));
    }
    text
}

/// Returns the rows of the table, without a limit.
fn shown<'a>(args: &DiffArgs, changes: &'a [Change]) -> impl Iterator<Item = &'a Change> {
    let all = args.all;
    let is_shown =
        move |change: &&Change| all || matches!(change.verdict, Verdict::Slower | Verdict::Faster);
    changes.iter().filter(is_shown)
}

fn limit(args: &DiffArgs) -> usize {
    args.limit.unwrap_or(usize::MAX)
}

/// Reports how many rows of the table the limit leaves out.
fn report_left_out(args: &DiffArgs, changes: &[Change]) {
    let all = shown(args, changes).count();
    let left_out = all.saturating_sub(limit(args)) as u64;
    if left_out > 0 && !args.json {
        let rows = counted(left_out, "more row", "more rows");
        say(&format!("{rows}{HINT}--limit {all} shows them"));
    }
}

fn row(change: &Change) -> Vec<String> {
    let (before, after) = (&change.before, &change.after);
    let mut cells = vec![
        change.median.map_or("-".to_owned(), |effect| percent(effect.change)),
        interval(change.median),
        of_some(before, |lengths| human_nanos(lengths.quantile(0.5))),
        of_some(after, |lengths| human_nanos(lengths.quantile(0.5))),
        change.difference(0.5).map_or("-".to_owned(), signed),
        of_some(before, |lengths| human_nanos(lengths.quantile(0.99))),
        of_some(after, |lengths| human_nanos(lengths.quantile(0.99))),
        of_some(before, |lengths| lengths.count().to_string()),
        of_some(after, |lengths| lengths.count().to_string()),
        change.verdict.as_str().to_owned(),
        label(change),
    ];
    cells.extend(change.value.as_ref().map(|value| value.as_str().to_owned()));
    cells
}

/// Returns a difference of lengths with its sign.
fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { '-' } else { '+' };
    format!("{sign}{}", human_nanos(nanos.unsigned_abs()))
}

/// Returns a line about what would make unclear rows clear, if there are any.
fn advice(changes: &[Change], run_noise: Option<f64>) -> String {
    let unclear = count(changes, Verdict::Unclear);
    let mut needed: Vec<usize> = changes.iter().filter_map(|change| change.runs_needed).collect();
    needed.sort_unstable();
    let half = needed.len().div_ceil(2);
    match (&needed[..half], &needed[half..], run_noise) {
        _ if unclear == 0 => String::new(),
        (.., Some(noise)) => format!(
            "unclear: one run a side shows no change below {}; record 5 runs a side\n",
            percent(noise)
        ),
        ([], ..) => "unclear: no number of runs up to 1000 a side makes a row clear\n".to_owned(),
        ([.., some], [], _) => {
            format!("unclear: {some} runs a side make {half} of {unclear} clear\n")
        }
        ([.., some], [.., most], _) => format!(
            "unclear: {some} runs a side make {half} of {unclear} clear, {most} make {} clear\n",
            needed.len()
        ),
    }
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

fn percent(share: f64) -> String {
    format!("{:+.1}%", share * 100.0)
}

/// Returns the interval of a change, such as `+3.1..+5.0%`.
fn interval(effect: Option<Effect>) -> String {
    effect.map_or("-".to_owned(), |effect| {
        format!("{:+.1}..{}", effect.low * 100.0, percent(effect.high))
    })
}

fn label(change: &Change) -> String {
    let (category, name) = (visible(&change.category), visible(&change.name));
    match change.kind {
        diff::Kind::Duration => format!("{category}:{name}"),
        diff::Kind::Poll => format!("{category}:{name} (polls)"),
        kind => format!("{category}:{name} ({})", kind.as_str()),
    }
}

/// Returns the label with the value, if rows are separated by values.
fn full_label(change: &Change) -> String {
    let value = change.value.as_ref().map(|value| format!(" {}", visible(value.as_str())));
    label(change) + value.as_deref().unwrap_or_default()
}
