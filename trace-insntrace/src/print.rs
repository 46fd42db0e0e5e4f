//! Recordings as text, folded stacks and archives.

mod folded;
mod fxt;
mod text;

use core::fmt;
use std::io::{self, Write};

use crate::flow::{FlowError, Item};
use crate::recording::{Error, Recording, Trace, TraceDecoder};
use crate::symbols::Symbols;

/// What follows the name of an inlined call in text.
const INLINED: &str = " (inlined)";

/// A format of a printed recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line for each instruction and event, with time, address and kind.
    Raw,
    /// A line for each packet.
    Packets,
    /// A line for each instruction.
    Instructions,
    /// A line for each call and return.
    Calls,
    /// An archive with calls as durations.
    Fxt,
    /// A line for each stack, with the number of instructions.
    Folded,
}

/// What was printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of traces.
    pub traces: u64,
    /// The number of decoded instructions.
    pub instructions: u64,
    /// The number of places where packets and code do not agree.
    pub errors: u64,
}

/// Why a recording could not be printed.
#[derive(Debug)]
pub enum PrintError {
    /// The recording could not be read.
    Recording(Error),
    /// Packets could not be read.
    Packets(io::Error),
    /// The output failed.
    Output(io::Error),
    /// A record does not fit into an archive.
    Archive(trace_format::WriteError),
    /// A trace has no time stamps, which the format requires.
    NoTime {
        /// The thread of the trace.
        tid: u32,
    },
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recording(error) => error.fmt(f),
            Self::Packets(_) => write!(f, "cannot read packets"),
            Self::Output(_) => write!(f, "cannot write the output"),
            Self::Archive(error) => error.fmt(f),
            Self::NoTime { tid } => write!(f, "the trace of thread {tid} has no time stamps"),
        }
    }
}

impl core::error::Error for PrintError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Recording(error) => error.source(),
            Self::Packets(error) | Self::Output(error) => Some(error),
            Self::Archive(error) => error.source(),
            Self::NoTime { .. } => None,
        }
    }
}

/// Writes the traces `chosen` of a recording to `out`.
///
/// # Errors
///
/// Fails if the recording cannot be read, or the output fails. Contradictions of packets and code
/// are printed and counted.
pub fn write(
    recording: &Recording,
    chosen: &[Trace],
    format: Format,
    symbols: &mut Symbols<'_>,
    out: impl Write,
) -> Result<Summary, PrintError> {
    match format {
        Format::Raw | Format::Packets | Format::Instructions | Format::Calls => {
            text::write(recording, chosen, format, symbols, out)
        }
        Format::Fxt => fxt::write(recording, chosen, symbols, out),
        Format::Folded => folded::write(recording, chosen, symbols, out),
    }
}

/// Receives the items of a trace.
trait Visitor {
    fn item(&mut self, decoder: &Decoder<'_>, item: &Item) -> Result<(), PrintError>;

    fn error(&mut self, decoder: &Decoder<'_>, error: &FlowError) -> Result<(), PrintError>;
}

type Decoder<'a> = TraceDecoder<'a, std::fs::File>;

/// Decodes a trace, and adds it to `summary`. Returns the last time stamp.
fn visit(
    recording: &Recording,
    trace: &Trace,
    summary: &mut Summary,
    visitor: &mut impl Visitor,
) -> Result<u64, PrintError> {
    let packets = recording.packets(trace.id).map_err(PrintError::Recording)?;
    let mut decoder =
        TraceDecoder::new(recording.notes(), trace.id, packets).with_timing(recording.timing());
    summary.traces += 1;
    while let Some(item) = decoder.next_item().map_err(PrintError::Packets)? {
        match item {
            Ok(item) => {
                summary.instructions += u64::from(matches!(item, Item::Instruction(_)));
                visitor.item(&decoder, &item)?;
            }
            Err(error) => {
                summary.errors += 1;
                visitor.error(&decoder, &error)?;
            }
        }
    }
    Ok(ticks(&decoder))
}

fn ticks(decoder: &Decoder<'_>) -> u64 {
    decoder.flow().tsc().unwrap_or_default()
}
