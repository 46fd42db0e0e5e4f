//! `trace convert` to Perfetto's own format.

use std::io::Read;

use anyhow::Result;
use trace_convert::{perfetto, Symbols};
use trace_format::Reader;

use crate::cli::ConvertArgs;
use crate::output::Output;
use crate::unreadable;

pub(super) fn convert(args: &ConvertArgs, reader: Reader<Box<dyn Read>>) -> Result<u8> {
    let mut output = Output::create(&args.output)?;
    let written = perfetto::write_with_symbols(reader, Symbols::default(), &mut output);
    let conversion = unreadable::explained_writing(&args.input, &args.output, written)?;
    output.finish_as(&args.output)?;
    Ok(super::summarize(&args.input, &conversion))
}
