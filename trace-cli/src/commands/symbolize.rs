//! `trace symbolize`

use std::io::BufWriter;

use anyhow::Result;
use trace_convert::symbolize::{self, Addresses, Summary};
use trace_convert::Symbols;

use crate::args::Format;
use crate::cli::SymbolizeArgs;
use crate::damage::{self, explained, explained_writing};
use crate::input::Spill;
use crate::message::counted;
use crate::output::{self, Output};
use crate::sampled::report_lacks;
use crate::say;

pub(crate) fn run(args: &SymbolizeArgs) -> Result<u8> {
    output::refuse_same_file(&args.file, &args.output)?;
    Format::Fxt.refuse_other(&args.output)?;
    let input = Spill::new(&args.file)?;
    let mut symbols = Symbols::default();
    let addresses = explained(&args.file, Addresses::read(input.open()?, &mut symbols))?;
    let reader = input.open()?;
    let mut output = Output::create(&args.output)?;
    let buffered = BufWriter::new(&mut output);
    let summary = symbolize::write(reader, &addresses, &mut symbols, buffered);
    let summary = explained_writing(&args.file, &args.output, summary)?;
    output.finish_as(&args.output)?;
    report_lacks(&args.file, &symbols, addresses.omitted_mappings());
    summarize(args, &addresses, &summary);
    Ok(damage::warn_of_copy(&args.file, &summary.damage))
}

fn summarize(args: &SymbolizeArgs, addresses: &Addresses, summary: &Summary) {
    if addresses.samples == 0 {
        say("no samples of call stacks (record with --samples)");
    }
    say(&format!("names of {} added", counted(summary.named, "address", "addresses")));
    let counts = [
        ("addresses that have names already", summary.archived),
        ("addresses without a name", summary.unnamed),
        ("addresses without a name, too many", addresses.omitted),
        ("frames outside of all modules", addresses.outside),
    ];
    damage::warn_counts(&args.file, &counts);
}
