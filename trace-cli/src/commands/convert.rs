//! `trace convert`

mod pftrace;
mod stacks;

use std::io::{BufWriter, Read};
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_convert::chrome::{self, Summary};
use trace_convert::{tef, ConvertError};
use trace_format::Reader;

use crate::args::Format;
use crate::cli::ConvertArgs;
use crate::output::{self, Output};
use crate::{exit, input, say};

/// The size of the pieces that archives are written in, in bytes.
const PIECE_BYTES: usize = 64 << 10;

pub(crate) fn run(args: &ConvertArgs) -> Result<u8> {
    output::refuse_same_file(&args.input, &args.output)?;
    let (is_json, input) = input::open_any(&args.input)?;
    let wanted = args.to.or_else(|| Format::of(&args.output));
    match (is_json, wanted) {
        (true, None | Some(Format::Fxt)) => to_fxt(args, input),
        (false, None | Some(Format::Json)) => to_json(args, input),
        (false, Some(format @ (Format::Folded | Format::Speedscope | Format::Csv))) => {
            stacks::convert(args, format, Reader::new(input))
        }
        (false, Some(Format::Pftrace)) => pftrace::convert(args, Reader::new(input)),
        (true, Some(Format::Pftrace | Format::Folded | Format::Speedscope | Format::Csv)) => {
            bail!("'{}' is JSON: convert it to FXT first", args.input.display())
        }
        (true, Some(Format::Json)) => bail!("'{}' is JSON already", args.input.display()),
        (false, Some(Format::Fxt)) => {
            // What is no archive either is to be called that.
            let reader = Reader::new(input);
            bail!(not_json(&args.input, reader))
        }
    }
}

/// Says what is wrong with an input that was to be JSON.
fn not_json(path: &Path, mut reader: Reader<Box<dyn Read>>) -> String {
    let name = path.display();
    match reader.next() {
        Ok(_) => format!("'{name}' is an archive already"),
        Err(_) => format!("'{name}' is no JSON: expected `{{` or `[` at its start"),
    }
}

fn to_json(args: &ConvertArgs, input: Box<dyn Read>) -> Result<u8> {
    let mut output = Output::create(&args.output)?;
    let summary = match chrome::write(Reader::new(input), &mut output) {
        Ok(summary) => summary,
        Err(error) => return Err(failed(args, error)),
    };
    output.finish().with_context(|| cannot_write(&args.output))?;
    tell(&summary);
    Ok(if summary.is_well_formed() { exit::OK } else { exit::INCOMPLETE })
}

fn to_fxt(args: &ConvertArgs, input: Box<dyn Read>) -> Result<u8> {
    let limits = tef::Limits { lenient: args.lenient, ..tef::Limits::default() };
    let mut output = BufWriter::with_capacity(PIECE_BYTES, Output::create(&args.output)?);
    let summary = match tef::to_fxt(tef::Reader::with_limits(input, limits), &mut output) {
        Ok(summary) => summary,
        Err(error) => return Err(failed(args, error)),
    };
    // It was flushed: nothing is left in it.
    let output = output.into_inner().map_err(|error| error.into_error());
    output
        .with_context(|| cannot_write(&args.output))?
        .finish()
        .with_context(|| cannot_write(&args.output))?;
    say(&format!("{} JSON events converted", summary.events));
    if summary.carried > 0 {
        let carried = summary.carried;
        say(&format!("{carried} of them are more than FXT can say, and carried along as they are"));
    }
    let Some(first) = &summary.skipped.first else {
        return Ok(exit::OK);
    };
    say(&format!("events that cannot be read, left out: {}", summary.skipped.events));
    say(&format!("the first of them: {}", chain(first)));
    Ok(exit::INCOMPLETE)
}

fn failed(args: &ConvertArgs, error: ConvertError) -> anyhow::Error {
    match error {
        ConvertError::Read(error) => input::explain(&args.input, error),
        ConvertError::Json(error) => {
            let wrong = matches!(error, tef::JsonError::Wrong { .. });
            let advice = match wrong && !args.lenient {
                true => "; --lenient leaves out what cannot be read",
                false => "",
            };
            let name = args.input.display();
            anyhow::anyhow!("cannot read '{name}' as JSON: {}{advice}", chain(&error))
        }
        ConvertError::Write(error) => anyhow::Error::new(error).context(cannot_write(&args.output)),
        error => error.into(),
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write '{}'", path.display())
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
