//! `trace stats --slowest` and `--at`

use anyhow::{bail, Result};
use serde_json::Value;
use trace_analyze::extent;
use trace_analyze::slowest::{slowest, Instance};
use trace_convert::visible;

use crate::args::Moment;
use crate::cli::StatsArgs;
use crate::damage::{self, explained, Failed};
use crate::input::Spill;
use crate::message::{say, HINT};
use crate::table::{self, human_nanos, Table};
use crate::times::{report_outside, seconds};
use crate::{arguments, input, unmatched};

/// The most instances of `--at` without `--slowest`.
const MAX_AT: usize = 1000;

/// Prints the longest instances.
pub(super) fn run(args: &StatsArgs) -> Result<u8> {
    let at = args.at.map(|at| time(args, at)).transpose()?;
    let number = args.slowest.unwrap_or(MAX_AT + 1);
    let (input, code) = input::of_threads(&args.file, Spill::new(&args.file)?, &args.selection)?;
    let filter = args.selection.filter();
    let is_selected = |category: &str, name: &str| filter.matches(category, name);
    let found = slowest(|| Ok::<_, Failed>(input.open()?), number, at, &args.arg, is_selected);
    let mut found = found.or_else(|error| error.explained(&args.file))?;
    let is_cut = args.slowest.is_none() && found.instances.len() > MAX_AT;
    found.instances.truncate(args.slowest.unwrap_or(MAX_AT));
    table::print(&match args.json {
        true => {
            let instances: Value = found.instances.iter().map(Instance::to_json).collect();
            serde_json::to_string_pretty(&instances)? + "\n"
        }
        false => text(&found.instances),
    })?;
    if is_cut {
        say(&format!("only the longest {MAX_AT} are shown{HINT}--slowest N shows more"));
    }
    unmatched::warn(&filter.categories, &found.categories);
    damage::warn_counts(&args.file, &damage::of_durations(&found.oddities));
    damage::warn_counts(&args.file, &damage::of_operations(&found.unpaired));
    Ok(code.max(damage::warn(&args.file, &found.damage)))
}

/// Returns the nanoseconds of a moment, and reports one outside of the trace. The selected threads
/// may have no event at the start.
fn time(args: &StatsArgs, at: Moment) -> Result<u64> {
    if !input::is_file(&args.file) {
        let Moment::Absolute(nanos) = at else {
            bail!("the first event of a pipe is unknown{HINT}use a time that `trace dump` prints, such as --at @1.5s");
        };
        return Ok(nanos);
    }
    let extent = explained(&args.file, extent::read(input::open(&args.file)?))?;
    let Some((start, end)) = extent.start.zip(extent.end) else { return Ok(at.nanos(0)) };
    let nanos = at.nanos(start);
    if !(start..=end).contains(&nanos) {
        report_outside("--at", (start, end));
    }
    Ok(nanos)
}

fn text(instances: &[Instance]) -> String {
    if instances.is_empty() {
        return "no such events\n".to_owned();
    }
    let mut table = Table::new(vec!["length", "begin", "name", "thread", "arguments"], 2);
    for instance in instances {
        let koids = instance.thread;
        let thread = match &*instance.thread_name {
            "" => format!("{}/{}", koids.process, koids.thread),
            name => format!("{name} ({}/{})", koids.process, koids.thread),
        };
        table.push(vec![
            human_nanos(instance.nanos),
            seconds(instance.begin_nanos),
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
