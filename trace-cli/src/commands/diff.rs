//! `trace diff`

use std::path::Path;

use anyhow::{bail, Result};
use serde_json::{json, Value};
use trace_convert::diff::{self, Change, Options, Verdict};
use trace_convert::stats::{self, Grouping, Report};
use trace_protocol::categories::CategorySet;

use crate::cli::DiffArgs;
use crate::damage::explained;
use crate::input::STANDARD;
use crate::table::{self, human_nanos, Table};
use crate::{damage, exit, input, say};

pub(crate) fn run(args: &DiffArgs) -> Result<u8> {
    if args.before == Path::new(STANDARD) && args.after == Path::new(STANDARD) {
        bail!("standard input cannot be both archives: give the name of a file");
    }
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let options = Options { threshold: args.threshold, significance: args.significance };
    let mut changes = diff::compare(&before, &after, &options);
    let categories = CategorySet::new(&args.categories);
    changes.retain(|change| categories.matches(&change.category));
    let limit = args.fail_over.unwrap_or(f64::INFINITY);
    let is_over = |change: &&Change| {
        change.verdict == Verdict::Slower && change.change.is_some_and(|change| change > limit)
    };
    let over: Vec<&Change> = changes.iter().filter(is_over).collect();
    table::print(&match args.json {
        true => json(&changes, over.len())?,
        false => text(args, &changes),
    })?;
    let code = damage::tell(&args.before, &before.damage);
    let code = code.max(damage::tell(&args.after, &after.damage));
    for change in &over {
        let percent = percent(change.change);
        say(&format!("{} is slower by {percent}, more than allowed", label(change)));
    }
    Ok(if over.is_empty() { code } else { exit::SLOWER })
}

fn read(path: &Path) -> Result<Report> {
    explained(path, stats::collect(input::open(path)?, Grouping::Together, None))
}

fn json(changes: &[Change], over: usize) -> Result<String> {
    let rows: Vec<Value> = changes.iter().map(Change::to_json).collect();
    Ok(serde_json::to_string_pretty(&json!({ "changes": rows, "over": over }))? + "\n")
}

fn text(args: &DiffArgs, changes: &[Change]) -> String {
    let heads =
        vec!["change", "p", "before", "after", "mean", "now", "count", "now", "verdict", "name"];
    let mut table = Table::new(heads, 8);
    let is_shown =
        |change: &&Change| args.all || matches!(change.verdict, Verdict::Slower | Verdict::Faster);
    for change in changes.iter().filter(is_shown) {
        let (before, after) = (&change.before, &change.after);
        table.push(vec![
            percent(change.change),
            change.p.map_or("-".to_owned(), |p| format!("{p:.1e}")),
            human_nanos(before.quantile(0.5)),
            human_nanos(after.quantile(0.5)),
            human_nanos(before.mean()),
            human_nanos(after.mean()),
            before.count().to_string(),
            after.count().to_string(),
            change.verdict.as_str().to_owned(),
            label(change),
        ]);
    }
    let count = |verdict| changes.iter().filter(|change| change.verdict == verdict).count();
    let mut text = if table.is_empty() { String::new() } else { table.text() };
    text.push_str(&format!(
        "{} slower, {} faster, {} alike, {} too rare to tell, {} new, {} gone\n",
        count(Verdict::Slower),
        count(Verdict::Faster),
        count(Verdict::Alike),
        count(Verdict::TooFew),
        count(Verdict::New),
        count(Verdict::Gone),
    ));
    text
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:+.1}%", share * 100.0))
}

fn label(change: &Change) -> String {
    let (category, name) = (change.category.escape_debug(), change.name.escape_debug());
    match change.kind {
        diff::Kind::Duration => format!("{category}:{name}"),
        kind => format!("{category}:{name} ({})", kind.as_str()),
    }
}
