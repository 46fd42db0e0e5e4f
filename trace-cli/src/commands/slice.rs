//! `trace slice`

mod scan;

use anyhow::{bail, Result};
use trace_convert::slice::{self, Selection, Summary};
use trace_protocol::categories::CategorySet;

use crate::args::Moment;
use crate::cli::SliceArgs;
use crate::damage::explained_writing;
use crate::output::{self, Output};
use crate::{damage, input, say};
use scan::Scan;

pub(crate) fn run(args: &SliceArgs) -> Result<u8> {
    output::refuse_same_file(&args.file, &args.output)?;
    let scan = scan(args)?;
    let (categories, names) = (CategorySet::new(&args.categories), CategorySet::new(&args.name));
    let category = |category: &str| categories.matches(category);
    let name = |name: &str| names.matches(name);
    let processes = koids(&args.process, "process", |name| scan.processes(name))?;
    let threads = koids(&args.thread, "thread", |name| scan.threads(name))?;
    let nanos = |moment| match moment {
        Moment::Absolute(nanos) => nanos,
        Moment::SinceStart(nanos) => scan.start().saturating_add(nanos),
    };
    let selection = Selection {
        from: args.from.map_or(0, nanos),
        to: args.to.map_or(u64::MAX, nanos),
        category: (!args.categories.is_empty()).then_some(&category),
        name: (!args.name.is_empty()).then_some(&name),
        processes: processes.as_deref(),
        threads: threads.as_deref(),
    };
    if selection.from >= selection.to {
        bail!("--from is not before --to");
    }
    let reader = input::open(&args.file)?;
    let mut output = Output::create(&args.output)?;
    let summary = slice::write(reader, &selection, std::io::BufWriter::new(&mut output));
    let summary = explained_writing(&args.file, &args.output, summary)?;
    output.finish_as(&args.output)?;
    tell(&summary);
    Ok(damage::tell(&args.file, &summary.damage))
}

/// Looks at all of the archive first, if that is needed.
fn scan(args: &SliceArgs) -> Result<Scan> {
    let is_relative = |moment: Option<Moment>| matches!(moment, Some(Moment::SinceStart(1..)));
    let names = args.process.iter().chain(&args.thread);
    let has_names = names.map(|who| who.parse::<u64>()).any(|koid| koid.is_err());
    if !has_names && !is_relative(args.from) && !is_relative(args.to) {
        return Ok(Scan::default());
    }
    input::refuse_pipe(
        &args.file,
        "times since the first event, and names of processes and threads, take a file that can \
         be read twice: give @ and a time of the clock, and ids",
    )?;
    Scan::read(&args.file)
}

/// Returns the koids of what the user named; `None` for all.
fn koids(
    whos: &[String],
    what: &str,
    named: impl Fn(&str) -> Vec<u64>,
) -> Result<Option<Vec<u64>>> {
    if whos.is_empty() {
        return Ok(None);
    }
    let mut koids = Vec::new();
    for who in whos {
        match who.parse() {
            Ok(koid) => koids.push(koid),
            Err(_) => koids.extend(named(who)),
        }
        if koids.is_empty() {
            bail!("the archive has no {what} of the name '{who}'");
        }
    }
    Ok(Some(koids))
}

fn tell(summary: &Summary) {
    say(&format!("{} records kept, {} left out", summary.written, summary.left_out));
    if summary.unknown > 0 {
        say(&format!("records of unknown types, left out: {}", summary.unknown));
    }
}
