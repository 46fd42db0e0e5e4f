//! `trace stats --slowest`, and the durations and operations of `--at`

use std::cmp::Reverse;

use anyhow::{bail, Result};
use serde_json::{json, Value};
use trace_analyze::extent;
use trace_analyze::schedule::moment::Moment;
use trace_analyze::slowest::{polled, slowest, Instance, Slowest};
use trace_analyze::spans::Role;
use trace_convert::visible;

use super::{moment, over, short};
use crate::args::Moment as Point;
use crate::cli::StatsArgs;
use crate::damage::{self, explained, Failed};
use crate::input::Spill;
use crate::known::refuse_unknown;
use crate::message::{say, HINT};
use crate::table::{self, human_nanos, Table};
use crate::times::{outside, seconds, span};
use crate::{arguments, exit, input};

/// The most instances of `--at` without `--slowest`.
const MAX_AT: usize = 1000;

/// Prints the longest instances, and with `--at` the states of threads.
pub(super) fn run(args: &StatsArgs) -> Result<u8> {
    let path = &args.file;
    let at = args.at.map(|at| time(args, at)).transpose()?;
    let whole = Spill::new(path)?;
    let states = at.map(|at| moment::read(args, &whole, at)).transpose()?;
    let part = input::part_of_threads(path, &whole, &args.selection)?;
    let (input, code) = part.as_ref().map_or((&whole, exit::OK), |(part, code)| (part, *code));
    let (mut found, is_cut) = find(args, input, at)?;
    if let (Some(at), Some(_)) = (at, &part) {
        add_polled(args, &whole, at, &mut found.instances)?;
    }
    let labels = found.instances.iter().map(|it| (&*it.category, &*it.name));
    refuse_unknown(path, &whole, &args.selection, labels.clone())?;
    table::print(&output(args, &found.instances, at.zip(states.as_ref()))?)?;
    if found.instances.is_empty() {
        short(args, labels).iter().for_each(|message| say(message));
    }
    if is_cut {
        say(&format!("only the longest {MAX_AT} are shown{HINT}--slowest N shows more"));
    }
    warn(args, &found);
    if let Some(states) = &states {
        moment::warn(args, states);
    }
    Ok(code.max(damage::warn(path, &found.damage)))
}

/// Returns the number of instances to show, if there is one.
fn most(args: &StatsArgs) -> Option<usize> {
    args.slowest.or(args.limit)
}

/// Finds the instances, and returns whether there are more.
fn find(args: &StatsArgs, input: &Spill<'_>, at: Option<u64>) -> Result<(Slowest, bool)> {
    let number = most(args).unwrap_or(MAX_AT + 1);
    let filter = args.selection.filter();
    let is_selected = |category: &str, name: &str| filter.matches(category, name);
    let found = slowest(|| Ok::<_, Failed>(input.open()?), number, at, &args.arg, is_selected);
    let mut found = found.or_else(|error| error.explained(&args.file))?;
    found.instances.retain(|instance| is_over(args, instance));
    let is_cut = most(args).is_none() && found.instances.len() > MAX_AT;
    found.instances.truncate(most(args).unwrap_or(MAX_AT));
    Ok((found, is_cut))
}

/// Adds the operations that selected threads poll and that have begun on others.
fn add_polled(
    args: &StatsArgs,
    whole: &Spill<'_>,
    at: u64,
    instances: &mut Vec<Instance>,
) -> Result<()> {
    let polled = polled(|| Ok::<_, Failed>(whole.open()?), at, instances);
    let filter = args.selection.filter();
    let mut polled = polled.or_else(|error: Failed| error.explained(&args.file))?;
    polled.retain(|instance| filter.matches(&instance.category, &instance.name));
    polled.retain(|instance| is_over(args, instance));
    instances.extend(polled);
    let length = |instance: &Instance| Reverse(instance.nanos.unwrap_or(u64::MAX));
    instances.sort_by_key(|instance| (length(instance), instance.begin_nanos));
    instances.truncate(most(args).unwrap_or(usize::MAX));
    Ok(())
}

/// Returns whether an instance is longer than `--over`. One without an end is.
fn is_over(args: &StatsArgs, instance: &Instance) -> bool {
    let lengths = over(args).zip(instance.nanos);
    lengths.is_none_or(|(over, nanos)| nanos > over)
}

fn output(
    args: &StatsArgs,
    instances: &[Instance],
    states: Option<(u64, &Moment)>,
) -> Result<String> {
    if !args.json {
        return Ok(text(instances, states));
    }
    let instance = |instance: &Instance| {
        let mut json = instance.to_json();
        if let Some((at, _)) = states {
            json["age_ns"] = age(instance, at).into();
        }
        json
    };
    let instances: Value = instances.iter().map(instance).collect();
    let value = match states {
        None => instances,
        Some((at, states)) => {
            json!({"time_ns": at, "instances": instances, "threads": states.to_json()})
        }
    };
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn warn(args: &StatsArgs, found: &Slowest) {
    damage::warn_counts(&args.file, &damage::of_durations(&found.oddities));
    damage::warn_counts(&args.file, &damage::of_operations(&found.unpaired));
}

/// Returns the nanoseconds of a moment, which is in the trace. The selected threads may have no
/// event at the start.
fn time(args: &StatsArgs, at: Point) -> Result<u64> {
    if !input::is_file(&args.file) {
        let Point::Absolute(nanos) = at else {
            bail!("the first event of a pipe is unknown{HINT}use a time that `trace dump` prints, such as --at @1.5s");
        };
        return Ok(nanos);
    }
    let extent = explained(&args.file, extent::read(input::open(&args.file)?))?;
    let nanos = at.nanos(span(&extent));
    let end = extent.recorded_until.or(extent.end);
    let Some((start, end)) = extent.start.zip(end) else { return Ok(nanos) };
    if !(start..=end).contains(&nanos) {
        bail!(outside("--at", (start, end)));
    }
    Ok(nanos)
}

/// Returns how long an instance has lasted at a time.
fn age(instance: &Instance, at: u64) -> u64 {
    at.saturating_sub(instance.begin_nanos)
}

fn text(instances: &[Instance], states: Option<(u64, &Moment)>) -> String {
    let at = states.map(|(at, _)| at);
    let states = states.map(|(_, states)| moment::text(states)).unwrap_or_default();
    if instances.is_empty() && states.is_empty() {
        return "no such events\n".to_owned();
    }
    let mut heads = vec!["length"];
    heads.extend(at.map(|_| "age"));
    heads.push("begin");
    let numbers = heads.len();
    heads.extend(["name", "thread", "arguments"]);
    let mut table = Table::new(heads, numbers);
    for instance in instances {
        let koids = instance.thread;
        let thread = match &*instance.thread_name {
            "" => format!("{}/{}", koids.process, koids.thread),
            name => format!("{name} ({}/{})", koids.process, koids.thread),
        };
        let mut cells = vec![instance.nanos.map_or_else(|| "no end".to_owned(), human_nanos)];
        cells.extend(at.map(|at| human_nanos(age(instance, at))));
        cells.extend([
            seconds(instance.begin_nanos),
            label(instance),
            thread,
            arguments::text(&instance.arguments),
        ]);
        table.push(cells);
    }
    match (table.is_empty(), states.is_empty()) {
        (true, _) => states,
        (_, true) => table.text(),
        _ => format!("{}\n{states}", table.text()),
    }
}

fn label(instance: &Instance) -> String {
    let (category, name) = (visible(&instance.category), visible(&instance.name));
    let id = instance.operation.or(instance.polled);
    let id = id.map_or_else(String::new, |id| format!(" id {id:#x}"));
    match instance.role {
        Role::Duration => format!("{category}:{name}{id}"),
        role => format!("{category}:{name}{id} ({})", role.as_str()),
    }
}
