//! `trace symbolize`

use std::io::BufWriter;
use std::path::Path;

use anyhow::Result;
use trace_convert::symbolize::{self, Addresses, Summary};
use trace_convert::Symbols;

use crate::args::Format;
use crate::cli::SymbolizeArgs;
use crate::damage;
use crate::input::Spill;
use crate::message::{counted, HINT};
use crate::output::{self, Output};
use crate::sampled::report_lacks;
use crate::say;
use crate::unreadable::{explained, explained_writing};

pub(crate) fn run(args: &SymbolizeArgs) -> Result<u8> {
    output::refuse_same_file(&args.file, &args.output)?;
    Format::Fxt.refuse_other(&args.output)?;
    let input = Spill::new(&args.file)?;
    let mut symbols = Symbols::default();
    let mut addresses = explained(&args.file, Addresses::read(input.open()?, &mut symbols))?;
    if let Some(directory) = &args.jit_maps {
        name_jit(directory, &mut addresses);
    }
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

/// Adds the names of code of just-in-time compilers, by their maps in a directory.
fn name_jit(directory: &Path, addresses: &mut Addresses) {
    let user = rustix::process::geteuid().as_raw();
    for process in addresses.jit_processes() {
        let path = directory.join(format!("perf-{process}.map"));
        if let Err(error) = addresses.read_jit_map(process, &path, user) {
            say(&format!("functions without names: {} {error}", path.display()));
        }
    }
}

fn summarize(args: &SymbolizeArgs, addresses: &Addresses, summary: &Summary) {
    if addresses.samples == 0 {
        say("no samples of call stacks (record with --samples)");
    }
    let named = summary.named + summary.jit;
    say(&format!("names of {} added", counted(named, "address", "addresses")));
    let hint = jit_hint(args, addresses);
    hint.iter().for_each(|hint| say(hint));
    let counts = [
        ("addresses that have names already", summary.archived),
        ("addresses without a name", summary.unnamed),
        ("addresses without a name, too many", addresses.omitted),
        ("frames outside of all modules", addresses.outside),
    ];
    damage::warn_counts(&args.file, &counts);
}

/// Returns a message about code without a file, with a hint to its maps.
fn jit_hint(args: &SymbolizeArgs, addresses: &Addresses) -> Option<String> {
    let processes = addresses.jit_processes();
    let process = processes.first().filter(|_| args.jit_maps.is_none())?;
    let hint = format!("--jit-maps /tmp reads /tmp/perf-{process}.map, if the program writes it");
    Some(format!("samples are in code of process {process} without a file{HINT}{hint}"))
}
