//! `trace stats --at`

use std::cmp::Reverse;

use anyhow::{bail, Result};
use serde_json::{json, Value};
use trace_analyze::extent;
use trace_analyze::schedule::moment::Moment;
use trace_analyze::slowest::{polled, Instance, Slowest};

use super::{instances, moment, most, over, section};
use crate::args::Moment as Point;
use crate::cli::StatsArgs;
use crate::input::{self, SelectedThreads, Spill};
use crate::message::{counted, say, HINT};
use crate::table;
use crate::times::{outside, span, Origin};
use crate::unreadable::{explained, Failed};

/// The most durations, and operations, without `--limit`.
const MAX_AT: usize = 1000;

/// Prints the states of threads at a time, and the durations and operations that last at it.
pub(super) fn run(args: &StatsArgs, point: Point) -> Result<u8> {
    let path = &args.file;
    let (at, origin) = time(args, point)?;
    let input = SelectedThreads::new(path, &args.selection)?;
    let (states, threads) = moment::read(args, &input.whole, at)?;
    let mut found = instances::find(args, &input, most(args).unwrap_or(MAX_AT), Some(at))?;
    if !input.is_all() {
        add_polled(args, &input.whole, at, &mut found)?;
    }
    instances::refuse_unknown(args, &input.whole, &found)?;
    table::print(&match args.json {
        true => json(&found.instances, at, &states)?,
        false => text(&found.instances, at, origin, &states),
    })?;
    report_left_out(&found, &states, threads);
    let code = input.code.max(instances::warn(args, &found));
    moment::warn(args, &states);
    Ok(code)
}

/// Returns the nanoseconds of a point in the trace, and from when times are counted. The selected
/// threads may have no event at the start.
fn time(args: &StatsArgs, at: Point) -> Result<(u64, Origin)> {
    if !input::is_file(&args.file) {
        let Point::Absolute(nanos) = at else {
            bail!("the first event of a pipe is unknown{HINT}use a time that `trace dump` prints, such as --at @1.5s");
        };
        return Ok((nanos, Origin::default()));
    }
    let extent = explained(&args.file, extent::read(input::open(&args.file)?))?;
    let span = span(&extent);
    let nanos = at.nanos(span);
    let end = extent.recorded_until.unwrap_or(span.end);
    if extent.start.is_some() && !(span.start..=end).contains(&nanos) {
        bail!(outside("--at", nanos, (span.start, end)));
    }
    let origin = match at {
        Point::Absolute(_) => Origin::default(),
        Point::SinceStart(_) | Point::Share(_) => Origin(span.start),
    };
    Ok((nanos, origin))
}

/// Adds the operations that selected threads poll and that have begun on others.
fn add_polled(args: &StatsArgs, whole: &Spill<'_>, at: u64, found: &mut Slowest) -> Result<()> {
    let polled = polled(|| Ok::<_, Failed>(whole.open()?), at, &found.instances);
    let filter = args.selection.filter();
    let mut polled = polled.or_else(|error: Failed| error.explained(&args.file))?;
    polled.retain(|instance| filter.matches(&instance.category, &instance.name));
    let is_over = |instance: &Instance| {
        let lengths = over(args).zip(instance.nanos);
        lengths.is_none_or(|(over, nanos)| nanos > over)
    };
    polled.retain(is_over);
    found.instances.extend(polled);
    let length = |instance: &Instance| Reverse(instance.nanos.unwrap_or(u64::MAX));
    found.instances.sort_by_key(|instance| (length(instance), instance.begin_nanos));
    let (mut operations, most) = (0, most(args).unwrap_or(usize::MAX));
    found.instances.retain(|instance| {
        operations += usize::from(instance.operation.is_some());
        instance.operation.is_none() || operations <= most
    });
    found.operations_left_out += operations.saturating_sub(most) as u64;
    Ok(())
}

fn json(instances: &[Instance], at: u64, states: &Moment) -> Result<String> {
    let instance = |instance: &Instance| {
        let mut json = instance.to_json();
        json["age_ns"] = instances::age(instance, at).into();
        json
    };
    let instances: Value = instances.iter().map(instance).collect();
    let value = json!({"time_ns": at, "instances": instances, "threads": states.to_json()});
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn text(instances: &[Instance], at: u64, origin: Origin, states: &Moment) -> String {
    let mut text = moment::text(states, origin);
    for (heading, is_operation) in [("durations", false), ("async operations", true)] {
        let of_kind = instances.iter().filter(|it| it.operation.is_some() == is_operation);
        section(&mut text, heading, &instances::table(of_kind, Some(at), origin));
    }
    match text.is_empty() {
        true => "no such events\n".to_owned(),
        false => text,
    }
}

/// Reports how many rows of each table the limit leaves out.
fn report_left_out(found: &Slowest, states: &Moment, threads: u64) {
    let operations = found.instances.iter().filter(|it| it.operation.is_some()).count();
    let durations = found.instances.len() - operations;
    let tables = [
        (states.threads.len(), threads, "thread", "threads"),
        (durations, found.durations_left_out, "duration", "durations"),
        (operations, found.operations_left_out, "async operation", "async operations"),
    ];
    let tables = tables.iter().filter(|(_, left_out, ..)| *left_out > 0);
    let all = tables.clone().map(|(shown, left_out, ..)| *shown as u64 + left_out).max();
    let Some(all) = all else { return };
    let listed: Vec<String> =
        tables.map(|(_, left_out, one, many)| counted(*left_out, one, many)).collect();
    say(&format!("not shown: {}{HINT}--limit {all} shows them", listed.join(", ")));
}
