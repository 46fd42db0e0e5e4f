//! Rows of statistics as tables.

use trace_analyze::stats::{CounterRow, Group, Report, Row, PERCENTILES};
use trace_convert::visible;

use super::section;
use crate::args::{GroupBy, StatsBy};
use crate::cli::StatsArgs;
use crate::rows::{group_label, label};
use crate::table::{human_nanos, Table};

/// The text without rows.
pub(super) const NOTHING: &str = "no such events\n";

/// Returns the tables as text, with rates if the trace has a length in seconds.
pub(super) fn text(args: &StatsArgs, report: &Report, seconds: Option<f64>) -> String {
    let lengths = |rows| lengths(args, rows, seconds);
    let mut text = String::new();
    if args.counters {
        section(&mut text, "counters", &counters(args, &report.counters, true));
    } else if args.flows {
        section(&mut text, "flows, from begin to end", &lengths(&report.flows));
    } else if args.instants {
        section(&mut text, "instants", &instants(args, &report.instants, seconds));
    } else {
        section(&mut text, "durations", &lengths(&report.durations));
        section(&mut text, "async operations", &lengths(&report.operations));
    }
    if text.is_empty() {
        text.push_str(NOTHING);
    }
    text
}

/// Returns one table with a heading.
pub(super) fn csv(args: &StatsArgs, report: &Report) -> String {
    if args.counters {
        return counters(args, &report.counters, false).csv();
    }
    if args.instants {
        return instants_csv(args, &report.instants).csv();
    }
    let mut heads = vec!["kind", "category", "name"];
    heads.extend(group_heads(args));
    heads.extend(["count", "total_ns", "self_ns", "on_cpu_ns", "mean_ns", "min_ns"]);
    heads.extend(["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns"]);
    let mut table = Table::new(heads, 0);
    let kinds = match args.flows {
        true => vec![("flow", &report.flows)],
        false => vec![("duration", &report.durations), ("async", &report.operations)],
    };
    for (kind, rows) in kinds {
        rows.iter().for_each(|row| table.push(csv_row(args, kind, row)));
    }
    table.csv()
}

fn csv_row(args: &StatsArgs, kind: &str, row: &Row) -> Vec<String> {
    let is_duration = kind == "duration";
    let kind = if is_duration { row.role.as_str() } else { kind };
    let mut cells = vec![kind.to_owned(), row.category.clone(), row.name.clone()];
    cells.extend(group_cells(args, row.group.as_ref()));
    let lengths = &row.lengths;
    let own = if is_duration { row.self_nanos.to_string() } else { String::new() };
    let on_cpu = row.on_cpu_nanos.map(|nanos| nanos.to_string()).unwrap_or_default();
    cells.extend([lengths.count().to_string(), lengths.sum().to_string(), own, on_cpu]);
    cells.extend([lengths.mean().to_string(), lengths.min().to_string()]);
    cells.extend(PERCENTILES.map(|(_, quantile)| lengths.quantile(quantile).to_string()));
    cells.push(lengths.max().to_string());
    cells
}

fn group_heads(args: &StatsArgs) -> &'static [&'static str] {
    match args.by {
        None => &[],
        Some(StatsBy::Group(GroupBy::Process)) => &["process", "process_name"],
        Some(StatsBy::Group(GroupBy::Thread)) => {
            &["process", "process_name", "thread", "thread_name"]
        }
        Some(StatsBy::Parent | StatsBy::Argument(_)) => &["value"],
    }
}

fn group_cells(args: &StatsArgs, group: Option<&Group>) -> Vec<String> {
    let Some(group) = group else { return Vec::new() };
    if let Some(value) = &group.value {
        return vec![value.as_str().to_owned()];
    }
    let mut cells = vec![group.koids.process.to_string(), group.process_name.clone()];
    if args.by == Some(StatsBy::Group(GroupBy::Thread)) {
        cells.extend([group.koids.thread.to_string(), group.thread_name.clone()]);
    }
    cells
}

/// Returns the table of lengths as text.
fn lengths(args: &StatsArgs, rows: &[Row], seconds: Option<f64>) -> Table {
    let with_self = rows.iter().any(|row| row.self_nanos > 0);
    let with_cpu = rows.iter().any(|row| row.on_cpu_nanos.is_some());
    let mut heads = vec!["count"];
    heads.extend(seconds.map(|_| "per s"));
    heads.push("total");
    heads.extend(with_self.then_some("self"));
    heads.extend(with_cpu.then_some("on-cpu"));
    heads.extend(["mean", "p50", "p90", "p99", "p99.9", "max"]);
    let numbers = heads.len();
    heads.push("name");
    heads.extend(args.by.as_ref().map(|_| "by"));
    let mut table = Table::new(heads, numbers);
    for row in rows {
        let lengths = &row.lengths;
        let mut cells = vec![lengths.count().to_string()];
        cells.extend(seconds.map(|seconds| per_second(row, seconds)));
        cells.push(human_nanos(lengths.sum()));
        cells.extend(with_self.then(|| human_nanos(row.self_nanos)));
        cells.extend(with_cpu.then(|| row.on_cpu_nanos.map_or("-".to_owned(), human_nanos)));
        cells.push(human_nanos(lengths.mean()));
        cells.extend(PERCENTILES.map(|(_, quantile)| human_nanos(lengths.quantile(quantile))));
        cells.push(human_nanos(lengths.max()));
        cells.push(label(row));
        cells.extend(row.group.as_ref().map(group_label));
        table.push(cells);
    }
    table
}

/// Returns the table of counts as text.
fn instants(args: &StatsArgs, rows: &[Row], seconds: Option<f64>) -> Table {
    let mut heads = vec!["count"];
    heads.extend(seconds.map(|_| "per s"));
    let numbers = heads.len();
    heads.push("name");
    heads.extend(args.by.as_ref().map(|_| "by"));
    let mut table = Table::new(heads, numbers);
    for row in rows {
        let mut cells = vec![row.lengths.count().to_string()];
        cells.extend(seconds.map(|seconds| per_second(row, seconds)));
        cells.push(label(row));
        cells.extend(row.group.as_ref().map(group_label));
        table.push(cells);
    }
    table
}

/// Returns the table of counts for CSV.
fn instants_csv(args: &StatsArgs, rows: &[Row]) -> Table {
    let mut heads = vec!["category", "name"];
    heads.extend(group_heads(args));
    heads.push("count");
    let mut table = Table::new(heads, 0);
    for row in rows {
        let mut cells = vec![row.category.clone(), row.name.clone()];
        cells.extend(group_cells(args, row.group.as_ref()));
        cells.push(row.lengths.count().to_string());
        table.push(cells);
    }
    table
}

/// Returns the number of a row in a second, with three digits if it is small.
fn per_second(row: &Row, seconds: f64) -> String {
    let rate = row.lengths.count() as f64 / seconds;
    match rate {
        100.0.. => format!("{rate:.0}"),
        10.0.. => format!("{rate:.1}"),
        _ => format!("{rate:.2}"),
    }
}

fn counters(args: &StatsArgs, rows: &[CounterRow], is_text: bool) -> Table {
    let numbers = ["count", "first", "last", "min", "mean", "max"];
    let mut heads = Vec::new();
    match is_text {
        true => {
            heads.extend(numbers);
            heads.push("name");
            heads.extend(args.by.as_ref().map(|_| "by"));
        }
        false => {
            heads.extend(["category", "name", "id", "series"]);
            heads.extend(group_heads(args));
            heads.extend(numbers);
        }
    }
    let mut table = Table::new(heads, if is_text { numbers.len() } else { 0 });
    for row in rows {
        let values = [row.first, row.last, row.min, row.mean, row.max];
        let values = std::iter::once(row.count.to_string()).chain(values.map(|value| {
            if is_text {
                rounded(value)
            } else {
                value.to_string()
            }
        }));
        let mut cells = Vec::new();
        if is_text {
            cells.extend(values);
            cells.push(counter_label(row));
            cells.extend(row.group.as_ref().map(group_label));
        } else {
            cells.extend([row.category.clone(), row.name.clone(), row.id.to_string()]);
            cells.push(row.series.clone());
            cells.extend(group_cells(args, row.group.as_ref()));
            cells.extend(values);
        }
        table.push(cells);
    }
    table
}

fn counter_label(row: &CounterRow) -> String {
    let (category, name) = (visible(&row.category), visible(&row.name));
    let series = visible(&row.series);
    match row.id {
        0 => format!("{category}:{name}.{series}"),
        id => format!("{category}:{name}[{id}].{series}"),
    }
}

/// Returns a number with at most three decimals.
fn rounded(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
