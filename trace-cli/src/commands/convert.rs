//! `trace convert`

mod csv;
mod pftrace;
mod stacks;
mod xray;
mod yaml;

use std::io::Read;
use std::path::Path;

use anyhow::{anyhow, bail, Result};
use trace_convert::tef::{self, JsonError, Skipped};
use trace_convert::{chrome, Conversion, ConvertError, Symbols};
use trace_format::Reader;

use crate::args::Format;
use crate::cli::ConvertArgs;
use crate::commands::query;
use crate::compression::Compression;
use crate::damage;
use crate::input::{Input, InputKind};
use crate::message::{counted, describe, HINT};
use crate::output::{self, Output};
use crate::sampled::report_lacks;
use crate::{exit, input, say, unreadable};

pub(crate) fn run(args: &ConvertArgs) -> Result<u8> {
    output::refuse_same_file(&args.input, &args.output)?;
    let target = match args.to {
        Some(format) => Some(format),
        None => Format::of(&args.output)?,
    };
    if args.log_version.is_some() && !matches!(target, Some(Format::Xray | Format::Yaml)) {
        bail!("--log-version requires an XRay log as output, such as app.xray");
    }
    if let Some(Format::Svg | Format::Html) = target {
        bail!(
            "cannot convert to {}: is a picture{HINT}use trace timeline or trace flamegraph",
            args.output.display()
        )
    }
    if let Some(Format::Parquet) = target {
        return tables(args);
    }
    if args.samples {
        return stacks::convert_samples(args, target);
    }
    let is_fxt = matches!(target, Some(Format::Fxt));
    if !args.selection.is_all() && !is_fxt {
        let (reader, code) = input::open_selected(&args.input, &args.selection)?;
        return Ok(code.max(convert(args, target, reader)?));
    }
    if !args.selection.is_all() {
        let (name, to) = (args.input.display(), args.output.display());
        bail!("cannot select events{HINT}convert to JSON, or use trace slice {name} -o {to}");
    }
    let input = input::open_any(&args.input)?;
    let is_fxt = matches!(target, None | Some(Format::Fxt));
    match (input.kind, target) {
        (Some(InputKind::Json), _) if is_fxt => return document_to_fxt(args, input),
        (Some(kind), _) if is_fxt && kind.is_imported() => return to_fxt(args, input),
        (Some(InputKind::Json), Some(Format::Json)) => {
            bail!("{} is JSON already", args.input.display())
        }
        (Some(InputKind::Fxt), Some(Format::Fxt)) => {
            let (name, to) = (args.input.display(), args.output.display());
            bail!("{name} is an archive already{HINT}copy it with trace slice {name} -o {to}")
        }
        (Some(InputKind::Xray), Some(Format::Xray)) if args.log_version.is_none() => {
            let name = args.input.display();
            bail!("{name} is an XRay log already{HINT}choose another version with --log-version")
        }
        (Some(InputKind::XrayYaml), Some(Format::Yaml)) if args.log_version.is_none() => {
            let name = args.input.display();
            bail!("{name} is YAML already{HINT}choose another version with --log-version")
        }
        (_, Some(Format::Yaml)) if input.is_log() => return yaml::convert_log(args, input),
        (None, Some(Format::Fxt)) => {
            bail!("{} is neither JSON nor an archive", args.input.display())
        }
        _ => {}
    }
    let reader = input.into_reader(&args.input, args.lenient)?;
    convert(args, target, reader)
}

/// Writes the tables of `trace query`.
fn tables(args: &ConvertArgs) -> Result<u8> {
    if args.samples || args.lenient || !args.selection.is_all() {
        bail!(
            "cannot select what is in the tables of {}\
             {HINT}they have all events; select rows with `trace query`",
            args.output.display()
        );
    }
    let is_plain = matches!(Compression::of(&args.output)?, Compression::None);
    if args.output == Path::new("-") || !is_plain {
        let name = args.output.display();
        bail!("cannot write {name}: tables are a folder of files{HINT}use the name of a folder");
    }
    query::export(&args.input, &args.output, args.inputs.instr_map.as_deref())
}

/// Converts an archive to another format.
fn convert(
    args: &ConvertArgs,
    target: Option<Format>,
    reader: Reader<Box<dyn Read>>,
) -> Result<u8> {
    match target {
        Some(format @ (Format::Folded | Format::Speedscope)) => {
            stacks::convert(args, format, reader)
        }
        Some(Format::Csv) => csv::convert(args, reader),
        Some(Format::Pftrace) => pftrace::convert(args, reader),
        Some(Format::Xray) => xray::convert(args, reader),
        Some(Format::Yaml) => yaml::convert(args, reader),
        _ => to_json(args, reader),
    }
}

/// Converts another format to an archive.
fn to_fxt(args: &ConvertArgs, input: Input) -> Result<u8> {
    let mut archive = input.into_archive(&args.input, args.lenient)?;
    let mut output = Output::create(&args.output)?;
    input::copy_to(&args.input, &mut archive, &mut output, || cannot_write(&args.output))?;
    output.finish_as(&args.output)?;
    Ok(damage::warn_of_log(&args.input))
}

fn to_json(args: &ConvertArgs, reader: Reader<Box<dyn Read>>) -> Result<u8> {
    let mut output = Output::create(&args.output)?;
    let written = chrome::write_with_symbols(reader, Symbols::default(), &mut output);
    let conversion = unreadable::explained_writing(&args.input, &args.output, written)?;
    output.finish_as(&args.output)?;
    Ok(summarize(&args.input, &conversion))
}

fn document_to_fxt(args: &ConvertArgs, input: Input) -> Result<u8> {
    let limits = tef::Limits { lenient: args.lenient, ..tef::Limits::default() };
    let mut output = Output::create(&args.output)?;
    let reader = tef::Reader::with_limits(input.bytes, limits).shifted(input.shift);
    let written = tef::to_fxt(reader, &mut output);
    let summary = match written {
        Err(ConvertError::Json(error)) => return Err(unreadable(args, &error)),
        written => unreadable::explained_writing(&args.input, &args.output, written)?,
    };
    output.finish_as(&args.output)?;
    say(&format!("{} converted", counted(summary.events, "entry", "entries")));
    if summary.carried > 0 {
        let carried = summary.carried;
        say(&format!("events that exceed FXT, kept as JSON: {carried}"));
    }
    if summary.scheduling > 0 {
        say(&format!("{} scheduling records read from systemTraceEvents", summary.scheduling));
    }
    if summary.omitted_backtraces > 0 {
        input::report_omitted_backtraces(summary.omitted_backtraces);
    }
    if summary.shift > 0 {
        let nanos = summary.shift;
        say(&format!("times before 0: all times of the archive are {nanos} ns later"));
    }
    let Some(first) = &summary.skipped.first else {
        return Ok(exit::OK);
    };
    let Skipped { parts, bytes, .. } = summary.skipped;
    say(&format!("malformed events and members, skipped: {parts}, {bytes} bytes"));
    say(&format!("the first of them: {}", describe(first)));
    Ok(exit::INCOMPLETE)
}

/// Returns the error for malformed JSON, with a hint.
fn unreadable(args: &ConvertArgs, error: &JsonError) -> anyhow::Error {
    let advice = match error {
        JsonError::Malformed { .. } if !args.lenient => {
            "\nhint: skip malformed JSON with --lenient"
        }
        _ => "",
    };
    let name = args.input.display();
    anyhow!("cannot read {name} as JSON: {}{advice}", describe(error))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Reports the result and what the output lacks, and returns the exit code.
pub(super) fn summarize(path: &Path, conversion: &Conversion) -> u8 {
    let stats = conversion.damage.stats;
    let lacks = [
        ("arguments of unknown types, skipped", conversion.damage.audit.unknown_arguments),
        ("counter values that are not numbers, skipped", conversion.counter_values_left_out),
        (
            "durations that end before they begin, written with length 0",
            conversion.reversed_durations,
        ),
    ];
    let records = counted(stats.records, "record", "records");
    let entries = counted(conversion.events, "entry", "entries");
    say(&format!("{records} converted to {entries}"));
    let code = damage::warn(path, &conversion.damage);
    if let Some(symbols) = &conversion.symbols {
        report_lacks(path, symbols, conversion.mappings_left_out);
    }
    for (what, number) in lacks.iter().filter(|(_, number)| *number > 0) {
        say(&format!("{what}: {number}"));
    }
    code
}
