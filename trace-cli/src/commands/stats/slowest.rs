//! `trace stats --slowest` and `--at`

use anyhow::{bail, Result};
use serde_json::Value;
use trace_analyze::extent;
use trace_analyze::slowest::{slowest, Instance};
use trace_convert::visible;

use crate::args::Moment;
use crate::cli::StatsArgs;
use crate::damage::{self, explained, Failed};
use crate::message::HINT;
use crate::table::{self, human_nanos, Table};
use crate::{arguments, input, unmatched};

/// The most instances of `--at` without `--slowest`.
const MAX_AT: usize = 1000;

/// Prints the longest instances.
pub(super) fn run(args: &StatsArgs) -> Result<u8> {
    let at = args.at.map(|at| time(args, at)).transpose()?;
    let number = args.slowest.unwrap_or(MAX_AT);
    let (input, code) = input::of_threads(&args.file, &args.selection)?;
    let filter = args.selection.filter();
    let is_selected = |category: &str, name: &str| filter.matches(category, name);
    let found = slowest(|| Ok::<_, Failed>(input.open()?), number, at, is_selected);
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

/// Returns the nanoseconds of a moment. The selected threads may have no event at the start.
fn time(args: &StatsArgs, at: Moment) -> Result<u64> {
    let Moment::SinceStart(_) = at else { return Ok(at.nanos(0)) };
    if !input::is_file(&args.file) {
        bail!("the first event of a pipe is unknown{HINT}use a time that `trace dump` prints, such as --at @1.5s");
    }
    let extent = explained(&args.file, extent::read(input::open(&args.file)?))?;
    Ok(at.nanos(extent.start.unwrap_or(0)))
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
