//! `trace stats --samples`

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use serde_json::json;
use trace_analyze::stats::Grouping;
use trace_convert::visible;

use super::section;
use crate::args::SortBy;
use crate::cli::StatsArgs;
use crate::message::{counted, HINT};
use crate::sampled::{self, Folded};
use crate::say;
use crate::table::{self, Table};

/// The most rows without `--limit`.
const MAX_ROWS: usize = 20;

/// The samples of a function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    /// Those in the function itself.
    own: u64,
    /// Those in it or in functions that it called.
    total: u64,
}

type Row<'a> = (&'a str, Counts);

/// Prints the functions that the samples are in.
pub(super) fn run(args: &StatsArgs) -> Result<u8> {
    let (samples, code) =
        sampled::folded(&args.file, &args.selection, args.over, Grouping::Together)?;
    let mut rows = rows(&samples.stacks, args.sort.unwrap_or(SortBy::Own));
    let number = rows.len();
    let most = if args.json || args.csv { usize::MAX } else { MAX_ROWS };
    rows.truncate(args.limit.unwrap_or(most));
    let all = samples.stacks.values().sum();
    let text = match args {
        StatsArgs { json: true, .. } => json(&samples, all, &rows)?,
        StatsArgs { csv: true, .. } => csv(&rows),
        _ => text(samples.unit, all, &rows),
    };
    table::print(&text)?;
    let left_out = number - rows.len();
    if number == 0 {
        report_none(args);
    } else if left_out > 0 && args.limit.is_none() {
        let functions = counted(left_out as u64, "more function", "more functions");
        say(&format!("{functions}{HINT}--limit {number} shows them"));
    }
    Ok(code)
}

/// Returns a row for each function. One that is several times in a stack counts once.
fn rows(stacks: &BTreeMap<String, u64>, by: SortBy) -> Vec<Row<'_>> {
    let mut functions: HashMap<&str, Counts> = HashMap::new();
    for (stack, number) in stacks {
        let mut frames: Vec<&str> = stack.split(';').collect();
        if let Some(innermost) = frames.last() {
            functions.entry(innermost).or_default().own += number;
        }
        frames.sort_unstable();
        frames.dedup();
        for frame in frames {
            functions.entry(frame).or_default().total += number;
        }
    }
    let mut rows: Vec<Row<'_>> = functions.into_iter().collect();
    match by {
        SortBy::Name => rows.sort_by_key(|(name, _)| *name),
        SortBy::Total => {
            rows.sort_by_key(|(name, counts)| (Reverse((counts.total, counts.own)), *name));
        }
        _ => rows.sort_by_key(|(name, counts)| (Reverse((counts.own, counts.total)), *name)),
    }
    rows
}

fn text(unit: &str, all: u64, rows: &[Row<'_>]) -> String {
    let share = |number: u64| format!("{:.1}%", 100.0 * number as f64 / all as f64);
    let mut table = Table::new(vec!["self", "self%", "total", "total%", "function"], 4);
    for (name, Counts { own, total }) in rows {
        let numbers = [own.to_string(), share(*own), total.to_string(), share(*total)];
        table.push(numbers.into_iter().chain([visible(name).into_owned()]).collect());
    }
    let mut text = String::new();
    section(&mut text, &format!("functions, by {all} {unit}"), &table);
    text
}

fn csv(rows: &[Row<'_>]) -> String {
    let mut table = Table::new(vec!["self", "total", "function"], 0);
    for (name, Counts { own, total }) in rows {
        table.push(vec![own.to_string(), total.to_string(), (*name).to_owned()]);
    }
    table.csv()
}

fn json(samples: &Folded, all: u64, rows: &[Row<'_>]) -> Result<String> {
    let function = |(name, counts): &Row<'_>| json!({"function": name, "self": counts.own, "total": counts.total});
    let functions: Vec<_> = rows.iter().map(function).collect();
    let value = json!({"unit": samples.unit, "total": all, "functions": functions});
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn report_none(args: &StatsArgs) {
    let file = args.file.display();
    match args.selection.is_all() && args.over.is_none() {
        true => say(&format!(
            "{file} has no samples of call stacks{HINT}record with --samples, see trace doctor"
        )),
        false => say(&format!("{file} has no samples within the selection")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(own: u64, total: u64) -> Counts {
        Counts { own, total }
    }

    #[test]
    fn a_recursive_function_counts_once_in_a_stack() {
        let stacks = [("main;walk;walk;read", 3), ("main;walk", 2), ("main", 1)];
        let stacks = stacks.map(|(stack, number)| (stack.to_owned(), number)).into();
        let (main, walk, read) = (counts(1, 6), counts(2, 5), counts(3, 3));
        assert_eq!(rows(&stacks, SortBy::Own), [("read", read), ("walk", walk), ("main", main)]);
        assert_eq!(rows(&stacks, SortBy::Total), [("main", main), ("walk", walk), ("read", read)]);
        assert_eq!(rows(&stacks, SortBy::Name), [("main", main), ("read", read), ("walk", walk)]);
    }
}
