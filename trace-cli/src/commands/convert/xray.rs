//! `trace convert` to an XRay log and its map.

use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_format::Reader;
use trace_xray::fxt::{export_with, ExportError, Exported, Options};

use super::cannot_write;
use crate::cli::ConvertArgs;
use crate::damage;
use crate::input::{self, STANDARD};
use crate::message::{counted, say, HINT};
use crate::output::Output;
use crate::unreadable;

/// Writes the log, and the map that names its functions beside it.
pub(super) fn convert(args: &ConvertArgs, reader: Reader<Box<dyn Read>>) -> Result<u8> {
    if args.output == Path::new(STANDARD) {
        bail!("cannot write an XRay log to standard output: it has a map{HINT}choose a file");
    }
    let map = args.output.with_extension("map");
    if map == args.output {
        bail!("cannot write {}: its map has the same name{HINT}choose NAME.xray", map.display());
    }
    check_replaceable(&map)?;
    let mut output = Output::create(&args.output)?;
    let mut names = Output::create(&map)?;
    let version = args.log_version.unwrap_or_default();
    let options = Options { version, ..Options::default() };
    let exported = match export_with(reader, &options, BufWriter::new(&mut output)) {
        Err(ExportError::Read(error)) => return Err(unreadable::explain(&args.input, error)),
        exported => exported.with_context(|| cannot_write(&args.output))?,
    };
    names.write_all(&exported.map).with_context(|| cannot_write(&map))?;
    names.finish_as(&map)?;
    output.finish_as(&args.output)?;
    let calls = counted(exported.calls, "call", "calls");
    let events = counted(exported.events, "event", "events");
    say(&format!("{calls} and {events} written, names of functions to {}", map.display()));
    Ok(report(&args.input, &exported))
}

/// Reports how the log of the archive at `path` differs from it. Returns the exit code.
pub(super) fn report(path: &Path, exported: &Exported) -> u8 {
    damage::warn_counts(
        path,
        &[
            ("durations without an end, written as entries", exported.open),
            ("durations without a begin, skipped", exported.unpaired),
            ("durations that end after the one around them, cut", exported.cut),
            ("records too long for a custom event, skipped", exported.too_long),
        ],
    );
    damage::warn(path, &exported.damage)
}

/// Returns an error if there is a file that is not a map.
fn check_replaceable(map: &Path) -> Result<()> {
    let is_other = map.exists() && !input::is_instr_map(map);
    if is_other {
        bail!(
            "cannot replace {}: it is not a map of functions{HINT}choose another name",
            map.display()
        );
    }
    Ok(())
}
