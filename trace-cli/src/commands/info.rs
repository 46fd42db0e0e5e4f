//! `trace info`

use std::collections::BTreeSet;

use anyhow::Result;
use trace_analyze::contents::{self, Contents};

use crate::cli::InfoArgs;
use crate::message::counted;
use crate::table::{self, human_nanos, Table};
use crate::times::seconds;
use crate::unreadable::explained;
use crate::{arguments as texts, damage, input, switches};

pub(crate) fn run(args: &InfoArgs) -> Result<u8> {
    let path = &args.report.file;
    let contents = explained(path, contents::read(input::open(path)?))?;
    table::print(&match args.report.json {
        true => serde_json::to_string_pretty(&contents.to_json())? + "\n",
        false => text(&contents),
    })?;
    let left_out = [("events and arguments not listed, too many names", contents.left_out)];
    damage::warn_counts(path, &left_out);
    Ok(damage::warn(path, &contents.damage))
}

fn text(contents: &Contents) -> String {
    let head = match contents.span {
        None => "no events\n".to_owned(),
        Some((from, to)) => {
            let length = human_nanos(to - from);
            format!("events from {}, for {length}{}\n", seconds(from), recorded(contents))
        }
    };
    let head = head + &kinds(contents);
    let tables = [names(contents), arguments(contents), threads(contents)];
    let tables = tables.iter().filter(|table| !table.is_empty()).map(Table::text);
    std::iter::once(head).chain(tables).collect::<Vec<_>>().join("\n")
}

/// Returns for how long the recording went on, if that is at least 10 % longer than from the first
/// event to the last one.
fn recorded(contents: &Contents) -> String {
    let Some(((from, to), until)) = contents.span.zip(contents.recorded_until) else {
        return String::new();
    };
    match (until - to) * 10 < to - from {
        true => String::new(),
        false => format!(", recorded until {} after the first one", human_nanos(until - from)),
    }
}

/// Returns lines about the kinds of records, and about those that other options would have
/// recorded.
fn kinds(contents: &Contents) -> String {
    let kinds = &contents.kinds;
    let events = [
        (kinds.durations, "duration", "durations"),
        (kinds.operations, "async operation", "async operations"),
        (kinds.flows, "flow", "flows"),
        (kinds.instants, "instant", "instants"),
        (kinds.counters, "counter value", "counter values"),
        (kinds.logs, "log record", "log records"),
    ];
    let present = events.iter().filter(|(number, ..)| *number > 0);
    let present = present.map(|(number, one, many)| counted(*number, one, many));
    let mut lines = vec![present.collect::<Vec<_>>().join(", ")];
    if contents.span.is_none() && kinds.switches + kinds.wakeups + kinds.samples == 0 {
        return String::new();
    }
    let threads = counted(contents.threads.len() as u64, "thread", "threads");
    let processes: BTreeSet<u64> = contents.threads.keys().map(|koids| koids.process).collect();
    let processes = counted(processes.len() as u64, "process", "processes");
    lines.push(format!("{threads} of {processes}"));
    lines.push(match kinds.switches + kinds.wakeups {
        0 => "no scheduling records (record with --sched)".to_owned(),
        _ => format!(
            "{} and {} of {}",
            counted(kinds.switches, "context switch", "context switches"),
            counted(kinds.wakeups, "wake-up", "wake-ups"),
            counted(kinds.scheduled_threads(), "thread", "threads")
        ),
    });
    lines.extend(switches::missing(kinds.missing_switches, contents.damage.is_none()));
    lines.push(match kinds.samples {
        0 => "no samples of call stacks (record with --samples)".to_owned(),
        number => counted(number, "sample of a call stack", "samples of call stacks"),
    });
    lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

fn names(contents: &Contents) -> Table {
    let mut table = Table::new(vec!["events", "category", "name"], 1);
    for ((category, name), events) in &contents.names {
        table.push(vec![events.to_string(), category.clone(), name.clone()]);
    }
    table
}

fn arguments(contents: &Contents) -> Table {
    let mut table = Table::new(vec!["count", "argument", "of", "example"], 1);
    for ((category, name, key), row) in &contents.arguments {
        let label = format!("{category}:{name}");
        // A long example is cut, and no JSON.
        let example = serde_json::from_str(&row.example);
        let example =
            example.map_or_else(|_| row.example.clone(), |value| texts::value_text(key, &value));
        table.push(vec![row.count.to_string(), key.clone(), label, example]);
    }
    table
}

fn threads(contents: &Contents) -> Table {
    let mut table = Table::new(vec!["events", "thread", "id", "process"], 1);
    for (koids, thread) in &contents.threads {
        let process = match &*thread.process_name {
            "" => koids.process.to_string(),
            name => format!("{name} ({})", koids.process),
        };
        let (events, id) = (thread.events.to_string(), koids.thread.to_string());
        table.push(vec![events, thread.name.clone(), id, process]);
    }
    table
}
