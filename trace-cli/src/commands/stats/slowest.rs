//! `trace stats --slowest`

use anyhow::Result;
use serde_json::Value;
use trace_analyze::slowest::{Instance, Slowest};
use trace_analyze::stats::Row;

use super::{collect, instances, rows, section, states};
use crate::args::SortBy;
use crate::cli::StatsArgs;
use crate::input::SelectedThreads;
use crate::rows::sort;
use crate::table;
use crate::times::Origin;

/// Prints the `number` longest instances, below the rows of their names.
pub(super) fn run(args: &StatsArgs, number: usize) -> Result<u8> {
    let input = SelectedThreads::new(&args.file, &args.selection)?;
    let mut found = instances::find(args, &input, number, None)?;
    if found.context_switches > 0 {
        states::add(args, &input, &mut found.instances)?;
    }
    instances::refuse_unknown(args, &input.whole, &found)?;
    table::print(&match args.json {
        true => json(&found)?,
        false => text(args, &input, &found)?,
    })?;
    states::warn(args, &found);
    Ok(input.code.max(instances::warn(args, &found)))
}

fn json(found: &Slowest) -> Result<String> {
    let instances: Value = found.instances.iter().map(Instance::to_json).collect();
    Ok(serde_json::to_string_pretty(&instances)? + "\n")
}

fn text(args: &StatsArgs, input: &SelectedThreads<'_>, found: &Slowest) -> Result<String> {
    if found.instances.is_empty() {
        return Ok("no such events\n".to_owned());
    }
    let mut text = sums(args, input, found)?;
    let table = instances::table(&found.instances, None, Origin::default());
    section(&mut text, "slowest", &table);
    text.push_str(states::legend(&found.instances));
    Ok(text)
}

/// Returns the tables with the rows of the instances.
fn sums(args: &StatsArgs, input: &SelectedThreads<'_>, found: &Slowest) -> Result<String> {
    let mut report = collect(args, Some(input))?;
    for (rows, is_operation) in [(&mut report.durations, false), (&mut report.operations, true)] {
        let is_of = |row: &Row, instance: &Instance| {
            instance.operation.is_some() == is_operation
                && (&row.category, &row.name) == (&instance.category, &instance.name)
                && (is_operation || row.role == instance.role)
        };
        rows.retain(|row| found.instances.iter().any(|instance| is_of(row, instance)));
        sort(rows, args.sort.unwrap_or(SortBy::Total));
    }
    Ok(rows::text(args, &report, None))
}
