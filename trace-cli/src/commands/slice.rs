//! `trace slice`

mod scan;

use std::time::Duration;

use anyhow::{bail, Result};
use trace_convert::slice::{self, Operations, Plan, Selection, Summary};

use crate::args::Format;
use crate::cli::SliceArgs;
use crate::input::{is_name, koids, refuse_missing, Spill};
use crate::message::counted;
use crate::output::{self, Output};
use crate::times::{refuse_outside, span};
use crate::unreadable::{explained, explained_writing, Failed};
use crate::{damage, say, unmatched};
use scan::Scan;

pub(crate) fn run(args: &SliceArgs) -> Result<u8> {
    output::refuse_same_file(&args.file, &args.output)?;
    Format::Fxt.refuse_other(&args.output)?;
    let input = Spill::new(&args.file)?;
    let scan = scan(args, &input)?;
    let filter = args.selection.filter();
    let category = |category: &str| filter.categories.matches(category);
    let name = |category: &str, name: &str| filter.names.matches(category, name);
    let processes = koids(&args.process, "process", &scan.0.processes)?;
    let threads = koids(&args.selection.thread, "thread", &scan.0.threads)?;
    let operations = args.id.map(|id| operations(args, &input, id)).transpose()?;
    let (from, to) = match (&operations, args.around) {
        (Some(operations), Some(distance)) => around(operations, distance),
        _ => args.range.nanos(span(&scan.0))?,
    };
    refuse_outside(&args.file, &scan.0, (from, to))?;
    // What is open lasts until the end of the recording: only an earlier border cuts it.
    let last = scan.0.records.map_or(u64::MAX, |(_, last)| last);
    let selection = Selection {
        from,
        to: to.filter(|to| *to <= last),
        category: (!args.selection.categories.is_empty()).then_some(&category),
        name: (!args.selection.name.is_empty()).then_some(&name),
        processes: processes.as_deref(),
        threads: threads.as_deref(),
        operations: operations.as_ref().filter(|_| args.around.is_none()),
        clips: args.clip,
    };
    let plan = explained(&args.file, Plan::read(input.open()?, &selection))?;
    refuse_missing(&args.file, &plan)?;
    let reader = input.open()?;
    let mut output = Output::create(&args.output)?;
    let summary = slice::write(reader, &plan, std::io::BufWriter::new(&mut output));
    let summary = explained_writing(&args.file, &args.output, summary)?;
    unmatched::refuse(&args.selection, summary.catalog.label_texts())?;
    output.finish_as(&args.output)?;
    summarize(&summary);
    if let Some(message) = scan.range((from, to), args.clip, summary.overlapping) {
        say(&message);
    }
    if !summary.has_events {
        say(&Scan::read(&args.file, &input)?.no_event());
    }
    Ok(damage::warn_of_copy(&args.file, &summary.damage))
}

/// Reads an operation.
fn operations(args: &SliceArgs, input: &Spill<'_>, id: u64) -> Result<Operations> {
    let found = Operations::read(id, || Ok::<_, Failed>(input.open()?));
    let found = found.or_else(|error| error.explained(&args.file))?;
    if found.is_empty() {
        bail!("{} has no async operation with the id {id:#x}", args.file.display());
    }
    Ok(found)
}

/// Returns the times around operations: the first one and the one after the last one.
fn around(operations: &Operations, distance: Duration) -> (u64, Option<u64>) {
    let distance = u64::try_from(distance.as_nanos()).unwrap_or(u64::MAX);
    let (first, last) = operations.extent().unwrap_or((0, u64::MAX));
    let end = last.checked_add(distance).and_then(|end| end.checked_add(1));
    (first.saturating_sub(distance), end)
}

/// Reads the whole archive first, if the arguments require it.
fn scan(args: &SliceArgs, input: &Spill<'_>) -> Result<Scan> {
    let mut names = args.process.iter().chain(&args.selection.thread);
    let has_names = names.any(|name| is_name(name));
    match has_names || !args.range.is_all() || args.around.is_some() {
        true => Scan::read(&args.file, input),
        false => Ok(Scan::default()),
    }
}

/// Returns the message with the numbers of records that are kept.
fn kept(Summary { events, others, .. }: &Summary) -> String {
    let of_events = counted(events.all(), "event", "events");
    match (events.all(), others.all()) {
        (_, 0) => format!("{} of {of_events} kept", events.kept),
        (0, all) => format!("{} of {} kept", others.kept, counted(all, "record", "records")),
        (_, all) => {
            let of_others = counted(all, "other record", "other records");
            format!("{} of {of_events} kept, and {} of {of_others}", events.kept, others.kept)
        }
    }
}

fn summarize(summary: &Summary) {
    say(&kept(summary));
    if summary.unknown > 0 {
        say(&format!("records of unknown types, kept: {}", summary.unknown));
    }
    if summary.unpaired > 0 {
        let number = summary.unpaired;
        say(&format!("durations and operations with an end too far away, kept open: {number}"));
    }
}
