//! `trace convert` to the formats for stacks of durations.

use std::io::{self, BufWriter, Read, Write};

use anyhow::{bail, Context, Result};
use trace_analyze::stats::Grouping;
use trace_convert::stacks::Stacks;
use trace_format::Reader;

use super::cannot_write;
use crate::args::Format;
use crate::cli::ConvertArgs;
use crate::damage;
use crate::message::HINT;
use crate::output::Output;
use crate::sampled;
use crate::unreadable::explained;

/// The size of the writes to an output, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Converts to folded stacks, or to the JSON of speedscope.
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

/// Converts samples to folded stacks.
pub(super) fn convert_samples(args: &ConvertArgs, target: Option<Format>) -> Result<u8> {
    if target != Some(Format::Folded) {
        bail!("cannot convert samples{HINT}use --samples with an output .folded, or --to folded");
    }
    let (folded, code) =
        sampled::folded(&args.input, &args.selection, args.over, Grouping::Together)?;
    let mut output = Output::create(&args.output)?;
    write_folded(folded.stacks, BufWriter::with_capacity(PIECE_BYTES, &mut output))
        .with_context(|| cannot_write(&args.output))?;
    output.finish_as(&args.output)?;
    Ok(code)
}

fn write_folded(
    stacks: impl IntoIterator<Item = (String, u64)>,
    mut output: impl Write,
) -> io::Result<()> {
    for (stack, number) in stacks {
        writeln!(output, "{stack} {number}")?;
    }
    output.flush()
}

fn write(
    args: &ConvertArgs,
    format: Format,
    stacks: &Stacks,
    output: &mut Output,
) -> io::Result<()> {
    let output = BufWriter::with_capacity(PIECE_BYTES, output);
    match format {
        Format::Speedscope => {
            let name = args.input.file_name().unwrap_or_default();
            stacks.speedscope(&name.to_string_lossy(), output)
        }
        _ => {
            let folded = stacks.folded(Grouping::Together)?;
            damage::warn_counts(&args.input, &damage::of_stacks(&folded));
            write_folded(folded.stacks(), output)
        }
    }
}
