//! `trace convert` to Perfetto's own format.

use std::io::Read;
use std::path::Path;

use anyhow::Result;
use trace_convert::perfetto::{self, Summary};
use trace_format::Reader;

use crate::cli::ConvertArgs;
use crate::output::Output;
use crate::{damage, exit, say};

pub(super) fn convert(args: &ConvertArgs, reader: Reader<Box<dyn Read>>) -> Result<u8> {
    let mut output = Output::create(&args.output)?;
    let written = perfetto::write(reader, &mut output);
    let summary = damage::explained_writing(&args.input, &args.output, written)?;
    output.finish_as(&args.output)?;
    Ok(tell(&args.input, &summary))
}

/// Tells what the trace lacks; returns the exit code that goes with it.
fn tell(path: &Path, summary: &Summary) -> u8 {
    let stats = summary.damage.stats;
    let lacks = [
        ("records of unknown types, left out", stats.unknown_records),
        ("references to strings that are not there", stats.unknown_string_refs),
        ("references to threads that are not there", stats.unknown_thread_refs),
        ("values of counters that are no numbers, left out", summary.counter_values_left_out),
        ("durations that end before they begin, written with length 0", summary.reversed_durations),
    ];
    say(&format!("{} records converted", stats.records));
    damage::tell(path, &summary.damage);
    for (what, number) in lacks.iter().filter(|(_, number)| *number > 0) {
        say(&format!("{what}: {number}"));
    }
    match summary.is_well_formed() {
        true => exit::OK,
        false => exit::INCOMPLETE,
    }
}
