//! `trace merge`

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use trace_convert::merge::{Clocks, Merger, Summary};

use crate::args::Format;
use crate::cli::MergeArgs;
use crate::input::Spill;
use crate::message::counted;
use crate::output::{self, Output};
use crate::unreadable::{explained, explained_writing};
use crate::{damage, exit, say};

pub(crate) fn run(args: &MergeArgs) -> Result<u8> {
    Format::Fxt.refuse_other(&args.output)?;
    let (mut inputs, mut clocks) = (Vec::new(), Vec::new());
    for path in &args.files {
        output::refuse_same_file(path, &args.output)?;
        let input = Spill::new(path)?;
        clocks.push(explained(path, Clocks::read(input.open()?))?);
        inputs.push((&**path, input));
    }
    let mut output = Output::create(&args.output)?;
    let summary = merge(&args.output, &inputs, &clocks, &mut output)?;
    output.finish_as(&args.output)?;
    warn_about_repeated(&args.files);
    summarize(&args.files, &summary);
    let codes = args.files.iter().zip(&summary.damage);
    Ok(codes.map(|(path, damage)| damage::warn_of_copy(path, damage)).max().unwrap_or(exit::OK))
}

fn merge(
    to: &Path,
    inputs: &[(&Path, Spill<'_>)],
    clocks: &[Clocks],
    output: &mut Output,
) -> Result<Summary> {
    let buffered = std::io::BufWriter::new(output);
    let mut merger = explained_writing(to, to, Merger::new(buffered, clocks))?;
    if merger.is_realtime() {
        say("the archives are from different boots or machines: aligned by wall-clock time");
    }
    for (archive, (path, input)) in inputs.iter().enumerate() {
        let offset = merger.koid_offset(archive);
        if offset > 0 {
            let name = path.display();
            say(&format!("{name} is from another boot: process ids are raised by {offset}"));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        explained_writing(path, to, merger.add(&name, input.open()?))?;
    }
    explained_writing(to, to, merger.finish())
}

/// Reports files that are listed more than once, under any name.
fn warn_about_repeated(files: &[PathBuf]) {
    let mut seen = HashSet::new();
    for path in files {
        let is_again = fs::canonicalize(path).is_ok_and(|file| !seen.insert(file));
        if is_again {
            let name = path.display();
            say(&format!("{name} is listed more than once: its records are repeated"));
        }
    }
}

fn summarize(files: &[PathBuf], summary: &Summary) {
    let Summary { events, others, providers, unknown, .. } = summary;
    let events = counted(*events, "event", "events");
    let others = counted(*others, "other record", "other records");
    let providers = counted(u64::from(*providers), "provider", "providers");
    say(&format!("{events} and {others} of {providers}"));
    if *unknown > 0 {
        say(&format!(
            "records and arguments of unknown types, copied without a change to their times: {unknown}"
        ));
    }
    if summary.repeated_flows > 0 {
        let number = summary.repeated_flows;
        say(&format!("flows that begin in several archives, joined: {number}"));
    }
    for (name, nanos) in &summary.wall_clock_set {
        let seconds = *nanos as f64 / 1e9;
        say(&format!(
            "{name:?}: the wall clock was set by {seconds:+.3} s during recording: aligned by the first anchor"
        ));
    }
    for (archive, name) in &summary.without_anchor {
        let path = files.get(*archive).map_or(Path::new(""), |path| path).display();
        say(&format!("{path}: {name:?} has no clock anchor: its times are not aligned"));
    }
}
