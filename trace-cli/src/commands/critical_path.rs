//! `trace critical-path`

mod no_match;

use anyhow::Result;
use serde_json::json;
use trace_analyze::critical::{self, Choice, Chosen, Found, Segment};
use trace_analyze::exact;
use trace_convert::visible;
use trace_format::ThreadKoids;

use crate::cli::CriticalPathArgs;
use crate::damage::{explained, Failed};
use crate::input::Spill;
use crate::table::{self, human_nanos, Table};
use crate::{damage, input};

pub(crate) fn run(args: &CriticalPathArgs) -> Result<u8> {
    let input = Spill::new(&args.file)?;
    let filter = args.selection.filter();
    let category = |category: &str| filter.categories.matches(category);
    let name = |name: &str| filter.names.matches(name);
    let threads = input::selected_threads(&args.file, &input, &args.selection)?;
    let thread =
        |koids: ThreadKoids| threads.as_ref().is_none_or(|threads| threads.contains(&koids.thread));
    let choice = Choice {
        flows: args.flow,
        category: Some(&category),
        name: Some(&name),
        thread: Some(&thread),
        id: args.id,
    };
    let found = critical::slowest(input.open()?, &choice);
    let Found { slowest, unpaired, damage } = explained(&args.file, found)?;
    let counts =
        if args.flow { damage::of_flows(&unpaired) } else { damage::of_operations(&unpaired) };
    damage::warn_counts(&args.file, &counts);
    let code = damage::warn(&args.file, &damage);
    let Some(chosen) = slowest else {
        return Err(no_match::error(args, &input)?);
    };
    let segments = critical::path(&chosen, || Ok::<_, Failed>(input.open()?));
    let segments = segments.or_else(|error| error.explained(&args.file))?;
    table::print(&match args.json {
        true => json(&chosen, &segments)?,
        false => text(&chosen, &segments),
    })?;
    Ok(code)
}

fn text(chosen: &Chosen, segments: &[Segment]) -> String {
    let (category, name) = (visible(&chosen.category), visible(&chosen.name));
    let (seconds, nanos) = (chosen.begin / 1_000_000_000, chosen.begin % 1_000_000_000);
    let length = chosen.end - chosen.begin;
    let ran: u64 = segments.iter().filter(|part| runs(part)).map(|part| part.to - part.from).sum();
    let mut text = format!(
        "{category}:{name} id {:#x}, process {}, at {seconds}.{nanos:09}s: {} = {} running + {} waiting\n",
        chosen.id,
        chosen.process,
        human_nanos(length),
        human_nanos(ran),
        human_nanos(length.saturating_sub(ran)),
    );
    let mut table = Table::new(vec!["after", "time", "share", "what"], 3);
    for part in segments {
        let time = part.to - part.from;
        let indent = "  ".repeat(part.depth);
        let (category, name) = (visible(&part.category), visible(&part.name));
        let what = match part.thread {
            _ if part.is_ready => format!("{indent}{category}:{name} waits for a processor"),
            Some(koids) => {
                format!(
                    "{indent}{category}:{name} runs on thread {}/{}",
                    koids.process, koids.thread
                )
            }
            None => format!("{indent}{category}:{name} waits"),
        };
        let share = time as f64 * 100.0 / length.max(1) as f64;
        table.push(vec![
            human_nanos(part.from - chosen.begin),
            human_nanos(time),
            format!("{share:.1}%"),
            what,
        ]);
    }
    text.push_str(&table.text());
    text
}

/// Returns whether a thread ran.
fn runs(part: &Segment) -> bool {
    part.thread.is_some() && !part.is_ready
}

fn json(chosen: &Chosen, segments: &[Segment]) -> Result<String> {
    let part = |part: &Segment| {
        json!({
            "from_ns": part.from,
            "to_ns": part.to,
            "depth": part.depth,
            "category": part.category,
            "name": part.name,
            "runs": runs(part),
            "waits_for_processor": part.is_ready,
            "process": part.thread.map(|koids| exact(koids.process)),
            "thread": part.thread.map(|koids| exact(koids.thread)),
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
        "path": segments.iter().map(part).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
