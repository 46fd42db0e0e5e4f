//! `trace xray`

use std::io::Write as _;
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_xray::map::{Map, Names};
use trace_xray::read::{Ordered, ReadError};
use trace_xray::report::{stacks_text, Account, Calls, Counts, Field, Graph, Options};

use crate::cli::{
    AccountArgs, Aggregation, GraphArgs, LogArgs, MapArgs, Order, StackArgs, TableFormat,
};
use crate::cli::{XrayArgs, XrayCommand};
use crate::damage::warn_counts;
use crate::input;
use crate::message::{describe, say, HINT};
use crate::output::{refuse_same_file, Output};
use crate::{exit, table};

pub(crate) fn run(args: &XrayArgs) -> Result<u8> {
    match &args.command {
        XrayCommand::Account(args) => account(args),
        XrayCommand::Stack(args) => stack(args),
        XrayCommand::Graph(args) => graph(args),
        XrayCommand::Map(args) => map(args),
    }
}

fn account(args: &AccountArgs) -> Result<u8> {
    let options = Options { recursive_only: args.recursive_calls_only };
    let (calls, mut names, code) = read_with(&args.log.file, options)?;
    let mut account = Account::new(&calls, &mut names);
    let field = args.sort;
    let is_ascending = match args.sortorder {
        Some(order) => order == Order::Asc,
        None => matches!(field, Field::Id | Field::Name),
    };
    account.sort(field, !is_ascending, args.top.unwrap_or(usize::MAX));
    let text = match args.format {
        TableFormat::Text => account.text(),
        TableFormat::Csv => account.csv(),
    };
    write(&args.log, [text])?;
    report_missing(&args.log.file, &names);
    Ok(code)
}

fn stack(args: &StackArgs) -> Result<u8> {
    let (calls, mut names, code) = read(&args.log.file)?;
    let aggregated;
    let groups: Vec<_> = match args.aggregate_threads {
        true => {
            aggregated = calls.stacks().aggregated();
            vec![(None, aggregated.iter().collect())]
        }
        false => {
            let threads = calls.stacks().by_thread().into_iter();
            threads.map(|(thread, stacks)| (Some(thread), stacks)).collect()
        }
    };
    let mut text = String::new();
    if args.all_stacks {
        let is_count = args.aggregation_type == Aggregation::Count;
        let stacks =
            groups.iter().flat_map(|(thread, stacks)| stacks.iter().map(|each| (*thread, each)));
        let lines = stacks.map(|(thread, stack)| stack.folded(thread, &mut names, is_count) + "\n");
        write(&args.log, lines)?;
        report_missing(&args.log.file, &names);
        return Ok(code);
    } else if args.per_thread_stacks {
        for (thread, stacks) in &groups {
            text += &format!("Thread {}:\n", thread.unwrap_or(0));
            text += &stacks_text(stacks, &mut names);
        }
    } else {
        let stacks: Vec<_> = groups.into_iter().flat_map(|(_, stacks)| stacks).collect();
        text = stacks_text(&stacks, &mut names);
    }
    write(&args.log, [text])?;
    report_missing(&args.log.file, &names);
    Ok(code)
}

fn graph(args: &GraphArgs) -> Result<u8> {
    let (calls, mut names, code) = read(&args.log.file)?;
    let graph = Graph::new(&calls, args.edge_label, args.vertex_label);
    write(&args.log, [graph.dot(&mut names)])?;
    report_missing(&args.log.file, &names);
    Ok(code)
}

fn map(args: &MapArgs) -> Result<u8> {
    let failed = || format!("cannot read {}", args.file.display());
    let bytes = std::fs::read(&args.file).with_context(failed)?;
    let yaml = Map::parse(&bytes).with_context(failed)?.to_yaml();
    write_to(args.output.as_deref(), &args.file, [yaml])?;
    Ok(exit::OK)
}

/// Writes a report to the output that was chosen.
fn write(log: &LogArgs, parts: impl IntoIterator<Item = String>) -> Result<()> {
    write_to(log.output.as_deref(), &log.file, parts)
}

/// Writes a report on `input` to a file, or to standard output if there is none.
fn write_to(
    output: Option<&Path>,
    input: &Path,
    parts: impl IntoIterator<Item = String>,
) -> Result<()> {
    let Some(path) = output else { return table::print_parts(parts) };
    refuse_same_file(input, path)?;
    let mut output = Output::create(path)?;
    let written = parts.into_iter().try_for_each(|part| output.write_all(part.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    output.finish_as(path)
}

fn read(path: &Path) -> Result<(Calls, Names, u8)> {
    read_with(path, Options::default())
}

/// Reads the calls of a log, and reports what they lack.
fn read_with(path: &Path, options: Options) -> Result<(Calls, Names, u8)> {
    let input = input::open_any(path)?;
    if !input.is_log() {
        bail!("{} is not a log of XRay's flight data recorder", path.display());
    }
    let (log, map) = input.into_log(path)?;
    let (name, names) = (path.display(), Names::new(map));
    let failed = || format!("cannot read {name}");
    let log = Ordered::new(log).with_context(failed)?;
    let damage = |error: &ReadError| say(&format!("{name}: {}", describe(error)));
    let calls = Calls::read_with(log, options, damage);
    let calls = calls.with_context(failed)?;
    let code = report(path, calls.counts());
    Ok((calls, names, code))
}

/// Reports if the map does not have all functions: a log of LLVM's runtime has no id, by which it
/// could be told from the map of another program.
fn report_missing(path: &Path, names: &Names) {
    let (log, missing) = (path.display(), names.missing());
    if missing > 0 {
        say(&format!(
            "names may be wrong: {missing} functions of {log} are not in the map{HINT}name the \
             program that wrote the log, or its .map file, by --instr-map"
        ));
    }
}

fn report(path: &Path, counts: Counts) -> u8 {
    let Counts { unwound, backward, open, no_entry, over_limit, not_kept, errors } = counts;
    warn_counts(
        path,
        &[
            ("calls without an exit, which end with their caller", unwound),
            ("calls during which time went back, without a time", backward),
            ("calls without an end, skipped", open),
            ("exits without an entry, skipped", no_entry),
            ("too many open calls or threads: entries and exits, skipped", over_limit),
            ("too many stacks: calls of others, skipped", not_kept),
        ],
    );
    if over_limit + not_kept + errors == 0 {
        exit::OK
    } else {
        exit::INCOMPLETE
    }
}
