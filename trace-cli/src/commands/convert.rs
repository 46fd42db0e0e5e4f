//! `trace convert`

use std::fs;
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_convert::chrome::{self, Summary};
use trace_convert::ConvertError;

use crate::cli::ConvertArgs;
use crate::output::Output;
use crate::{exit, input, say};

pub(crate) fn run(args: &ConvertArgs) -> Result<u8> {
    refuse_same_file(&args.input, &args.output)?;
    let reader = input::open(&args.input)?;
    let mut output = Output::create(&args.output)?;
    let summary = match chrome::write(reader, &mut output) {
        Ok(summary) => summary,
        Err(ConvertError::Read(error)) => return Err(input::explain(&args.input, error)),
        Err(ConvertError::Write(error)) => {
            return Err(error).with_context(|| cannot_write(&args.output));
        }
        Err(error) => return Err(error.into()),
    };
    output.finish().with_context(|| cannot_write(&args.output))?;
    tell(&summary);
    Ok(if summary.is_well_formed() { exit::OK } else { exit::INCOMPLETE })
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write '{}'", path.display())
}

/// The archive must not be replaced by its JSON.
fn refuse_same_file(input: &Path, output: &Path) -> Result<()> {
    let (from, to) = (fs::canonicalize(input), fs::canonicalize(output));
    if from.is_ok_and(|from| to.is_ok_and(|to| from == to && from.is_file())) {
        bail!("'{}' is both input and output: give another name after -o", input.display());
    }
    Ok(())
}

/// Tells how it went, and what the JSON lacks.
fn tell(summary: &Summary) {
    let Summary { stats, events, .. } = summary;
    say(&format!("{} records converted to {events} JSON events", stats.records));
    let lacks = [
        ("records dropped while recording", summary.records_dropped),
        ("full buffers while recording", summary.buffers_full),
        ("malformed records, left out", stats.bad_records),
        ("records of unknown types, left out", stats.unknown_records),
        ("references to strings that are not there", stats.unknown_string_refs),
        ("references to threads that are not there", stats.unknown_thread_refs),
        ("values of counters that are no numbers, left out", summary.counter_values_left_out),
        ("durations that end before they begin, written with length 0", summary.reversed_durations),
    ];
    for (what, number) in lacks.iter().filter(|(_, number)| *number > 0) {
        say(&format!("{what}: {number}"));
    }
    if let Some(error) = &summary.first_bad_record {
        say(&format!("the first malformed record: {}", chain(error)));
    }
    if let Some(error) = &summary.cut {
        say(&format!("{error}; what stands before it is converted"));
    }
}

/// Returns an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
