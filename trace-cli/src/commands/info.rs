//! `trace info`

use anyhow::Result;
use trace_analyze::contents::{self, Contents};

use crate::cli::InfoArgs;
use crate::damage::explained;
use crate::table::{self, human_nanos, Table};
use crate::{arguments as texts, damage, input};

pub(crate) fn run(args: &InfoArgs) -> Result<u8> {
    let contents = explained(&args.report.file, contents::read(input::open(&args.report.file)?))?;
    table::print(&match args.report.json {
        true => serde_json::to_string_pretty(&contents.to_json())? + "\n",
        false => text(&contents),
    })?;
    let left_out = [("events and arguments not listed, too many names", contents.left_out)];
    damage::warn_counts(&args.report.file, &left_out);
    Ok(damage::warn(&args.report.file, &contents.damage))
}

fn text(contents: &Contents) -> String {
    let Some((from, to)) = contents.span else { return "no events\n".to_owned() };
    let (seconds, nanos) = (from / 1_000_000_000, from % 1_000_000_000);
    let length = human_nanos(to - from);
    let tables = [names(contents), arguments(contents), threads(contents)];
    let tables = tables.iter().filter(|table| !table.is_empty()).map(Table::text);
    let head = format!("events from {seconds}.{nanos:09}s, for {length}\n");
    std::iter::once(head).chain(tables).collect::<Vec<_>>().join("\n")
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
