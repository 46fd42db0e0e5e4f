//! `trace stats --slowest`

use anyhow::Result;
use serde_json::Value;
use trace_analyze::slowest::{slowest, Instance};
use trace_convert::visible;

use crate::cli::StatsArgs;
use crate::damage::{self, Failed};
use crate::table::{self, human_nanos, Table};
use crate::{arguments, input, unmatched};

/// Prints the `number` longest instances.
pub(super) fn run(args: &StatsArgs, number: usize) -> Result<u8> {
    let (input, code) = input::of_threads(&args.file, &args.selection)?;
    let filter = args.selection.filter();
    let is_selected = |category: &str, name: &str| filter.matches(category, name);
    let found = slowest(|| Ok::<_, Failed>(input.open()?), number, is_selected);
    let found = found.or_else(|error| error.explained(&args.file))?;
    table::print(&match args.json {
        true => {
            let instances: Value = found.instances.iter().map(Instance::to_json).collect();
            serde_json::to_string_pretty(&instances)? + "\n"
        }
        false => text(&found.instances),
    })?;
    unmatched::warn(&filter.categories, &found.categories);
    damage::warn_counts(&args.file, &damage::of_durations(&found.oddities));
    damage::warn_counts(&args.file, &damage::of_operations(&found.unpaired));
    Ok(code.max(damage::warn(&args.file, &found.damage)))
}

fn text(instances: &[Instance]) -> String {
    if instances.is_empty() {
        return "no such events\n".to_owned();
    }
    let mut table = Table::new(vec!["length", "begin", "name", "thread", "arguments"], 2);
    for instance in instances {
        let (seconds, nanos) =
            (instance.begin_nanos / 1_000_000_000, instance.begin_nanos % 1_000_000_000);
        let koids = instance.thread;
        let thread = match &*instance.thread_name {
            "" => format!("{}/{}", koids.process, koids.thread),
            name => format!("{name} ({}/{})", koids.process, koids.thread),
        };
        table.push(vec![
            human_nanos(instance.nanos),
            format!("{seconds}.{nanos:09}s"),
            label(instance),
            thread,
            arguments::text(&instance.arguments),
        ]);
    }
    table.text()
}

fn label(instance: &Instance) -> String {
    let (category, name) = (visible(&instance.category), visible(&instance.name));
    match instance.operation {
        Some(id) => format!("{category}:{name} id {id:#x}"),
        None => format!("{category}:{name}"),
    }
}
