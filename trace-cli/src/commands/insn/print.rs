//! `trace insn print`

use std::io::{BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use trace_convert::chrome;
use trace_format::Reader;
use trace_insntrace::perf_data::{self, CodeDirectory};
use trace_insntrace::print::{self, Format, Summary};
use trace_insntrace::recording::{Recording, Trace};
use trace_insntrace::symbols::Symbols;

use super::imported::import;
use crate::cli::{InsnFormat, InsnPrintArgs};
use crate::input::temporary_file_error;
use crate::message::{counted, describe, HINT};
use crate::output::Output;
use crate::{exit, say};

/// Why a recording is incomplete.
const INCOMPLETE: &str = "recording has failed, was killed, or still runs, or files were cut";

pub(super) fn run(args: &InsnPrintArgs) -> Result<u8> {
    let name = args.directory.display();
    let folder = tempfile::tempdir().with_context(temporary_file_error)?;
    let recording = match args.directory.is_file() {
        true => import(&args.directory, &folder.path().join("recording"))?,
        false => Recording::open(&args.directory)
            .with_context(|| format!("cannot read the recording {name}"))?,
    };
    let traces = select(args, recording.traces())?;
    if args.format == InsnFormat::Perf && args.output == Path::new("-") {
        bail!("--format perf requires a file{HINT}-o perf.data");
    }
    let mut symbols = Symbols::new(recording.notes());
    if args.no_inline {
        symbols = symbols.without_inlined();
    }
    let mut output = Output::create(&args.output)?;
    let mut code = None;
    let summary = match format_of(args.format) {
        None if args.format == InsnFormat::Perf => {
            let (summary, files) = write_perf(args, &recording, &traces, &mut output)?;
            code = Some(files);
            summary
        }
        Some(format) => {
            let out = BufWriter::new(&mut output);
            print::write(&recording, &traces, format, &mut symbols, out)
                .with_context(|| format!("cannot print the recording {name}"))?
        }
        None => write_chrome(&recording, &traces, &mut symbols, &mut output)?,
    };
    output.finish_as(&args.output)?;
    if let Some(code) = code {
        complete(args, code);
    }
    Ok(report(args, &summary, &symbols, recording.is_complete()))
}

/// Returns the traces of the selected threads.
fn select(args: &InsnPrintArgs, traces: Vec<Trace>) -> Result<Vec<Trace>> {
    let is_selected = |trace: &Trace| args.thread.is_empty() || args.thread.contains(&trace.tid);
    let selected: Vec<_> = traces.into_iter().filter(is_selected).collect();
    if selected.is_empty() {
        bail!("the recording {} has no such thread", args.directory.display());
    }
    Ok(selected)
}

/// Returns the directory of the code of a file of perf, which is beside it.
fn code_directory(args: &InsnPrintArgs) -> PathBuf {
    let mut name = args.output.clone().into_os_string();
    name.push(".code");
    name.into()
}

/// Writes a file of perf, and files with code that no other file has.
fn write_perf(
    args: &InsnPrintArgs,
    recording: &Recording,
    traces: &[Trace],
    output: &mut Output,
) -> Result<(Summary, CodeDirectory)> {
    let mut out = BufWriter::new(output);
    let written = perf_data::write(recording, traces, &mut out, &code_directory(args))
        .with_context(|| format!("cannot export the recording {}", args.directory.display()))?;
    out.flush().with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(written)
}

/// Removes the code of an earlier file of this name.
fn complete(args: &InsnPrintArgs, code: CodeDirectory) {
    if let Err(error) = code.complete() {
        let directory = code_directory(args);
        let error = describe(&error);
        say(&format!("{} has files of an earlier export: {error}", directory.display()));
    }
}

/// Returns the format of the printer, or `None` for Chrome JSON and files of perf.
fn format_of(format: InsnFormat) -> Option<Format> {
    Some(match format {
        InsnFormat::Raw => Format::Raw,
        InsnFormat::Packets => Format::Packets,
        InsnFormat::Insns => Format::Instructions,
        InsnFormat::Calls => Format::Calls,
        InsnFormat::Fxt => Format::Fxt,
        InsnFormat::Folded => Format::Folded,
        InsnFormat::Chrome | InsnFormat::Perf => return None,
    })
}

/// Writes an archive to a temporary file, and converts it.
fn write_chrome(
    recording: &Recording,
    traces: &[Trace],
    symbols: &mut Symbols<'_>,
    output: &mut Output,
) -> Result<Summary> {
    let mut archive = tempfile::tempfile().with_context(temporary_file_error)?;
    let out = BufWriter::new(&mut archive);
    let summary = print::write(recording, traces, Format::Fxt, symbols, out)?;
    archive.rewind().with_context(temporary_file_error)?;
    let mut out = BufWriter::new(output);
    chrome::write(Reader::new(BufReader::new(archive)), &mut out)?;
    out.flush()?;
    Ok(summary)
}

/// Reports what is missing, and returns the exit code.
fn report(args: &InsnPrintArgs, summary: &Summary, symbols: &Symbols<'_>, is_complete: bool) -> u8 {
    for (file, reason) in symbols.unusable() {
        say(&format!("no symbols of {file}: it {reason}"));
    }
    for (file, reason) in symbols.without_inlined_calls() {
        say(&format!("inlined calls of {file} are missing: it {reason}"));
    }
    if !matches!(args.format, InsnFormat::Packets | InsnFormat::Perf) {
        let instructions = counted(summary.instructions, "instruction", "instructions");
        let traces = counted(summary.traces, "trace", "traces");
        say(&format!("{instructions} of {traces} decoded"));
    }
    if !is_complete {
        say(&format!("the recording {} is incomplete{HINT}{INCOMPLETE}", args.directory.display()));
    }
    if summary.errors > 0 {
        say(&format!("places where packets and code do not agree: {}", summary.errors));
    }
    match is_complete && summary.errors == 0 {
        true => exit::OK,
        false => exit::INCOMPLETE,
    }
}
