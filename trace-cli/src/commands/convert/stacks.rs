//! `trace convert` to the formats for stacks of durations.

use std::io::{self, BufWriter, Read, Write};

use anyhow::{Context, Result};
use trace_analyze::stats::Grouping;
use trace_convert::stacks::Stacks;
use trace_format::Reader;

use super::cannot_write;
use crate::args::Format;
use crate::cli::ConvertArgs;
use crate::damage::{self, explained};
use crate::output::Output;

/// The size of the writes to an output, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Converts to folded stacks, to the JSON of speedscope, or to CSV.
pub(super) fn convert(
    args: &ConvertArgs,
    format: Format,
    reader: Reader<Box<dyn Read>>,
) -> Result<u8> {
    let stacks = explained(&args.input, Stacks::read(reader))?;
    let mut output = Output::create(&args.output)?;
    write(args, format, &stacks, &mut output).with_context(|| cannot_write(&args.output))?;
    output.finish_as(&args.output)?;
    damage::warn_counts(&args.input, &damage::of_durations(&stacks.oddities));
    Ok(damage::warn(&args.input, &stacks.damage))
}

fn write(
    args: &ConvertArgs,
    format: Format,
    stacks: &Stacks,
    output: &mut Output,
) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(PIECE_BYTES, output);
    match format {
        Format::Csv => stacks.csv(output),
        Format::Speedscope => {
            let name = args.input.file_name().unwrap_or_default();
            stacks.speedscope(&name.to_string_lossy(), output)
        }
        _ => {
            let folded = stacks.folded(Grouping::Together)?;
            damage::warn_counts(&args.input, &damage::of_stacks(&folded));
            for (stack, nanos) in folded.stacks() {
                writeln!(output, "{stack} {nanos}")?;
            }
            output.flush()
        }
    }
}
