//! `trace convert` to CSV.

use std::io::{BufWriter, Read};

use anyhow::{Context, Result};
use trace_convert::csv::Rows;
use trace_format::Reader;

use super::cannot_write;
use crate::cli::ConvertArgs;
use crate::damage;
use crate::message::counted;
use crate::output::Output;
use crate::say;
use crate::unreadable::explained;

/// The size of the writes to an output, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Writes a line for each event.
pub(super) fn convert(args: &ConvertArgs, reader: Reader<Box<dyn Read>>) -> Result<u8> {
    let path = &args.input;
    let rows = explained(path, Rows::read(reader))?;
    let mut output = Output::create(&args.output)?;
    rows.write(BufWriter::with_capacity(PIECE_BYTES, &mut output))
        .with_context(|| cannot_write(&args.output))?;
    output.finish_as(&args.output)?;
    let records = counted(rows.damage().stats.records, "record", "records");
    say(&format!("{records} converted to {}", counted(rows.number(), "row", "rows")));
    damage::warn_counts(path, &damage::of_durations(rows.oddities()));
    damage::warn_counts(path, &[damage::misplaced(rows.oddities())]);
    let (operations, flows) = rows.unpaired();
    damage::warn_counts(path, &damage::of_operations(operations));
    damage::warn_counts(path, &damage::of_flows(flows));
    Ok(damage::warn(path, rows.damage()))
}
