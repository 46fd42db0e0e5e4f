//! `trace critical-path`

mod no_match;
mod waits;

use std::collections::HashSet;

use anyhow::Result;
use serde_json::json;
use trace_analyze::arguments::to_object;
use trace_analyze::critical::{
    self, Choice, Chosen, Found, Member, Path, Segment, Share, Shares, Wait,
};
use trace_analyze::exact;
use trace_convert::visible;
use trace_format::ThreadKoids;

use crate::cli::CriticalPathArgs;
use crate::input::Spill;
use crate::known::refuse_unknown;
use crate::table::{self, human_nanos, Table};
use crate::unreadable::{explained, Failed};
use crate::{arguments, damage, input, say};

pub(crate) fn run(args: &CriticalPathArgs) -> Result<u8> {
    let input = Spill::new(&args.file)?;
    let filter = args.selection.filter();
    let category = |category: &str| filter.categories.matches(category);
    let name = |category: &str, name: &str| filter.names.matches(category, name);
    let threads = input::selected_threads(&args.file, &input, &args.selection)?;
    let thread =
        |koids: ThreadKoids| threads.as_ref().is_none_or(|threads| threads.contains(&koids.thread));
    let choice = Choice {
        flows: args.flow,
        category: Some(&category),
        name: Some(&name),
        thread: Some(&thread),
        id: args.id,
        arguments: &args.arg,
    };
    let found = critical::slowest(input.open()?, &choice);
    let Found { slowest, unpaired, damage } = explained(&args.file, found)?;
    let counts =
        if args.flow { damage::of_flows(&unpaired) } else { damage::of_operations(&unpaired) };
    damage::warn_counts(&args.file, &counts);
    let code = damage::warn(&args.file, &damage);
    let label = slowest.iter().map(|chosen| (&*chosen.category, &*chosen.name));
    refuse_unknown(&args.file, &input, &args.selection, label)?;
    let Some(chosen) = slowest else {
        return Err(no_match::error(args, &input)?);
    };
    let path = critical::path(&chosen, || Ok::<_, Failed>(input.open()?));
    let mut path = path.or_else(|error| error.explained(&args.file))?;
    explained(&args.file, path.read_arguments(&chosen, input.open()?))?;
    let shares = explained(&args.file, path.durations(input.open()?))?;
    table::print(&match args.json {
        true => json(&chosen, &path, &shares)?,
        false => text(&chosen, &path, &shares),
    })?;
    damage::warn_counts(&args.file, &[damage::of_reversed(shares.reversed)]);
    if shares.is_cut {
        say("too many durations ran, the last ones of the archive are not counted");
    }
    Ok(code)
}

fn text(chosen: &Chosen, path: &Path, shares: &Shares) -> String {
    let Path { segments, members, .. } = path;
    let label_of_chosen = label(&chosen.category, &chosen.name, Some(chosen.id));
    let (seconds, nanos) = (chosen.begin / 1_000_000_000, chosen.begin % 1_000_000_000);
    let length = chosen.end - chosen.begin;
    let mut text = format!(
        "{label_of_chosen}, process {}, at {seconds}.{nanos:09}s: {} = {}\n",
        chosen.process,
        human_nanos(length),
        waits::sums(segments, length),
    );
    let mut table = Table::new(vec!["after", "time", "share", "what"], 3);
    for part in segments {
        let time = part.to - part.from;
        let indent = "  ".repeat(part.depth);
        // The head has the id of the chosen operation.
        let id = part.id.filter(|id| *id != chosen.id);
        let label = label(&part.category, &part.name, id);
        let what = waits::what(part);
        let share = time as f64 * 100.0 / length.max(1) as f64;
        table.push(vec![
            human_nanos(part.from - chosen.begin),
            human_nanos(time),
            format!("{share:.1}%"),
            format!("{indent}{label} {what}"),
        ]);
    }
    text.push_str(&table.text());
    text.push_str(&waits::unknown(chosen, path));
    text.push_str(&durations(shares));
    text.push_str(&arguments_of(segments, members));
    text
}

/// Returns the table of the durations in the running parts.
fn durations(shares: &Shares) -> String {
    let mut table = Table::new(vec!["self", "count", "duration"], 2);
    for row in &shares.rows {
        let time = human_nanos(row.self_nanos);
        table.push(vec![time, row.count.to_string(), label(&row.category, &row.name, None)]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!("\n{}", table.text())
}

/// Returns the arguments of each operation that has any, and the operations without a segment.
fn arguments_of(segments: &[Segment], members: &[Member]) -> String {
    let with_segment: HashSet<u64> = segments.iter().filter_map(|segment| segment.id).collect();
    let is_listed =
        |member: &&Member| !member.arguments.is_empty() || !with_segment.contains(&member.id);
    let mut table = Table::new(vec!["operation", "arguments"], 0);
    for member in members.iter().filter(is_listed) {
        let indent = "  ".repeat(member.depth);
        let label = label(&member.category, &member.name, Some(member.id));
        let more = if member.has_more_arguments { " …" } else { "" };
        let arguments = arguments::text(&member.arguments) + more;
        table.push(vec![format!("{indent}{label}"), arguments]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!("\n{}", table.text())
}

fn label(category: &str, name: &str, id: Option<u64>) -> String {
    let label = format!("{}:{}", visible(category), visible(name));
    id.map_or(label.clone(), |id| format!("{label} id {id:#x}"))
}

fn json(chosen: &Chosen, path: &Path, shares: &Shares) -> Result<String> {
    let part = |part: &Segment| {
        json!({
            "from_ns": part.from,
            "to_ns": part.to,
            "depth": part.depth,
            "category": part.category,
            "name": part.name,
            "id": part.id.map(exact),
            "runs": part.wait.is_none(),
            "waits_for_processor": matches!(part.wait, Some(Wait::Processor { .. })),
            "wait": part.wait.as_ref().map(Wait::to_json),
            "process": part.thread.map(|koids| exact(koids.process)),
            "thread": part.thread.map(|koids| exact(koids.thread)),
        })
    };
    let operation = |member: &Member| {
        json!({
            "category": member.category,
            "name": member.name,
            "id": exact(member.id),
            "depth": member.depth,
            "arguments": to_object(&member.arguments),
            "has_more_arguments": member.has_more_arguments,
        })
    };
    let duration = |row: &Share| {
        json!({
            "category": row.category,
            "name": row.name,
            "count": row.count,
            "self_ns": row.self_nanos,
        })
    };
    let value = json!({
        "kind": if chosen.is_flow { "flow" } else { "async" },
        "category": chosen.category,
        "name": chosen.name,
        "id": exact(chosen.id),
        "process": exact(chosen.process),
        "begin_ns": chosen.begin,
        "end_ns": chosen.end,
        "operations": path.members.iter().map(operation).collect::<Vec<_>>(),
        "path": path.segments.iter().map(part).collect::<Vec<_>>(),
        "durations": shares.rows.iter().map(duration).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
