//! `trace convert`

mod pftrace;
mod stacks;

use std::io::{BufWriter, Read};
use std::path::Path;

use anyhow::{anyhow, bail, Context, Result};
use trace_convert::tef::{self, JsonError, Skipped};
use trace_convert::{chrome, Conversion, ConvertError};
use trace_format::Reader;

use crate::args::Format;
use crate::cli::ConvertArgs;
use crate::damage::{self, chain};
use crate::input::{Input, InputKind};
use crate::output::{self, Output};
use crate::{exit, input, say};

/// The size of the pieces that archives are written in, in bytes.
const PIECE_BYTES: usize = 64 << 10;

pub(crate) fn run(args: &ConvertArgs) -> Result<u8> {
    output::refuse_same_file(&args.input, &args.output)?;
    let wanted = match args.to {
        Some(format) => Some(format),
        None => Format::of(&args.output)?,
    };
    let input = input::open_any(&args.input)?;
    let is_fxt = matches!(wanted, None | Some(Format::Fxt));
    match (input.kind, wanted) {
        (_, Some(Format::Svg | Format::Html)) => {
            bail!("'{}': trace timeline and trace flamegraph draw", args.output.display())
        }
        (Some(InputKind::Json), _) if is_fxt => return document_to_fxt(args, input.bytes),
        (Some(InputKind::Ftrace), _) if is_fxt => return to_fxt(args, input),
        (Some(InputKind::Json), Some(Format::Json)) => {
            bail!("'{}' is JSON already", args.input.display())
        }
        (Some(InputKind::Fxt), Some(Format::Fxt)) => {
            let (name, to) = (args.input.display(), args.output.display());
            bail!("'{name}' is an archive already: trace slice {name} -o {to}")
        }
        (None, Some(Format::Fxt)) => {
            bail!("'{}' is no JSON: expected `{{` or `[` at its start", args.input.display())
        }
        _ => {}
    }
    let reader = input.into_reader(&args.input, args.lenient)?;
    match wanted {
        Some(format @ (Format::Folded | Format::Speedscope | Format::Csv)) => {
            stacks::convert(args, format, reader)
        }
        Some(Format::Pftrace) => pftrace::convert(args, reader),
        _ => to_json(args, reader),
    }
}

/// Writes the archive that is made of another format.
fn to_fxt(args: &ConvertArgs, input: Input) -> Result<u8> {
    let mut archive = InputKind::Ftrace.format(false).open(input.bytes)?;
    let mut output = Output::create(&args.output)?;
    input::copy_to(&args.input, &mut archive, &mut output, || cannot_write(&args.output))?;
    output.finish_as(&args.output)?;
    Ok(exit::OK)
}

fn to_json(args: &ConvertArgs, reader: Reader<Box<dyn Read>>) -> Result<u8> {
    let mut output = Output::create(&args.output)?;
    let written = chrome::write(reader, &mut output);
    let conversion = damage::explained_writing(&args.input, &args.output, written)?;
    output.finish_as(&args.output)?;
    Ok(tell(&args.input, &conversion))
}

fn document_to_fxt(args: &ConvertArgs, input: Box<dyn Read>) -> Result<u8> {
    let limits = tef::Limits { lenient: args.lenient, ..tef::Limits::default() };
    let mut output = BufWriter::with_capacity(PIECE_BYTES, Output::create(&args.output)?);
    let written = tef::to_fxt(tef::Reader::with_limits(input, limits), &mut output);
    let summary = match written {
        Err(ConvertError::Json(error)) => return Err(unreadable(args, &error)),
        written => damage::explained_writing(&args.input, &args.output, written)?,
    };
    // It was flushed: nothing is left in it.
    let output = output.into_inner().map_err(|error| error.into_error());
    output.with_context(|| cannot_write(&args.output))?.finish_as(&args.output)?;
    say(&format!("{} JSON events converted", summary.events));
    if summary.carried > 0 {
        let carried = summary.carried;
        say(&format!("{carried} of them are more than FXT can say, and carried along as they are"));
    }
    if summary.scheduling > 0 {
        say(&format!("{} scheduling records made of systemTraceEvents", summary.scheduling));
    }
    let Some(first) = &summary.skipped.first else {
        return Ok(exit::OK);
    };
    let Skipped { parts, bytes, .. } = summary.skipped;
    say(&format!("events and members that cannot be read, left out: {parts}, {bytes} bytes"));
    say(&format!("the first of them: {}", chain(first)));
    Ok(exit::INCOMPLETE)
}

/// Says what is wrong with JSON, and what can be done.
fn unreadable(args: &ConvertArgs, error: &JsonError) -> anyhow::Error {
    let advice = match error {
        JsonError::Wrong { .. } if !args.lenient => "; --lenient leaves out what cannot be read",
        _ => "",
    };
    let name = args.input.display();
    anyhow!("cannot read '{name}' as JSON: {}{advice}", chain(error))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write '{}'", path.display())
}

/// Tells how it went, and what the output lacks; returns the exit code that
/// goes with it.
pub(super) fn tell(path: &Path, conversion: &Conversion) -> u8 {
    let stats = conversion.damage.stats;
    let lacks = [
        ("records of unknown types, left out", stats.unknown_records),
        ("values of counters that are no numbers, left out", conversion.counter_values_left_out),
        (
            "durations that end before they begin, written with length 0",
            conversion.reversed_durations,
        ),
    ];
    say(&format!("{} records converted to {} events", stats.records, conversion.events));
    let code = damage::tell(path, &conversion.damage);
    for (what, number) in lacks.iter().filter(|(_, number)| *number > 0) {
        say(&format!("{what}: {number}"));
    }
    code
}
