//! `trace convert` to YAML of an XRay log.

use std::fs::File;
use std::io::{BufWriter, Read, Seek};

use anyhow::{Context, Result};
use trace_format::Reader;
use trace_xray::fxt::{export, ExportError};
use trace_xray::layout::Version;
use trace_xray::map::{Map, Names};
use trace_xray::read::{Ordered, ReadError};
use trace_xray::yaml;

use super::{cannot_write, xray};
use crate::cli::ConvertArgs;
use crate::input::{temporary_file_error, Input};
use crate::message::{counted, describe, say};
use crate::output::Output;
use crate::{exit, unreadable};

/// Writes the records of a log.
pub(super) fn convert_log(args: &ConvertArgs, input: Input) -> Result<u8> {
    let (log, map) = input.into_log(&args.input)?;
    write(args, log, map)
}

/// Writes the records of the log that an archive becomes.
pub(super) fn convert(args: &ConvertArgs, reader: Reader<Box<dyn Read>>) -> Result<u8> {
    let mut log = tempfile::tempfile().with_context(temporary_file_error)?;
    let exported = match export(reader, BufWriter::new(&log)) {
        Err(ExportError::Read(error)) => return Err(unreadable::explain(&args.input, error)),
        exported => exported.with_context(|| cannot_write(&args.output))?,
    };
    log.rewind().with_context(temporary_file_error)?;
    let map = Map::parse(&exported.map).with_context(|| cannot_write(&args.output))?;
    let code = write(args, log, map)?;
    Ok(code.max(xray::report(&args.input, &exported)))
}

/// Writes the records of a log. LLVM's tools read version 1 only.
fn write(args: &ConvertArgs, log: File, map: Map) -> Result<u8> {
    let name = args.input.display();
    let log = Ordered::new(log).with_context(|| format!("cannot read {name}"))?;
    let version = args.log_version.unwrap_or(Version::V1);
    let mut output = Output::create(&args.output)?;
    let damage = |error: &ReadError| say(&format!("{name}: {}", describe(error)));
    let written =
        yaml::write(log, &mut Names::new(map), version, BufWriter::new(&mut output), damage);
    let counts = written.with_context(|| cannot_write(&args.output))?;
    output.finish_as(&args.output)?;
    let functions = counted(counts.functions, "entry or exit", "entries and exits");
    say(&format!("{functions} and {} written", counted(counts.events, "event", "events")));
    Ok(if counts.errors == 0 { exit::OK } else { exit::INCOMPLETE })
}
