//! `trace flamegraph`

mod draw;
mod drawn;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_convert::stacks::FrameNames;
use trace_convert::visible;

use crate::args::Format;
use crate::cli::FlamegraphArgs;
use crate::input::STANDARD;
use crate::known::hint_to_others;
use crate::message::HINT;
use crate::output::{self, Output};
use draw::{draw, Stack};
use drawn::{Drawn, Times};

pub(crate) fn run(args: &FlamegraphArgs) -> Result<u8> {
    let output = output::path_or_default(args.output.as_deref(), &args.file, ending(args))?;
    output::refuse_same_file(&args.file, &output)?;
    Format::Svg.refuse_other(&output)?;
    if let Some(before) = &args.diff {
        output::refuse_same_file(before, &output)?;
        if before == Path::new(STANDARD) && args.file == Path::new(STANDARD) {
            bail!("standard input is named twice{HINT}name a file");
        }
    }
    let (stacks, unit, code) = stacks(args)?;
    let svg = draw(visible(&title(args)).into_owned(), unit, &stacks)
        .with_context(|| format!("cannot draw {}", args.file.display()))?;
    let mut file = Output::create(&output)?;
    file.write_all(&svg).with_context(|| format!("cannot write {}", output.display()))?;
    file.finish_as(&output)?;
    output::name_default(args.output.as_deref(), &output);
    Ok(code)
}

/// Returns the end of the default name of the output: pictures of one archive have several names.
fn ending(args: &FlamegraphArgs) -> &'static str {
    match args {
        FlamegraphArgs { samples: true, .. } => "samples.svg",
        FlamegraphArgs { operations: true, .. } => "operations.svg",
        FlamegraphArgs { diff: Some(_), .. } => "diff.svg",
        _ => "flamegraph.svg",
    }
}

fn title(args: &FlamegraphArgs) -> String {
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    match &args.diff {
        Some(before) => {
            let before = before.file_name().unwrap_or_default().to_string_lossy();
            format!("{name} against {before}")
        }
        None => name.into_owned(),
    }
}

/// Returns the stacks of the archive, with their times before if there is another one, what the
/// numbers count, and the exit code.
fn stacks(args: &FlamegraphArgs) -> Result<(Vec<Stack>, &'static str, u8)> {
    let (after, code) = Drawn::read(&args.file, args)?;
    let unit = after.unit();
    let Some(path) = &args.diff else {
        let times = times(&after, args, &FrameNames::new(after.frames()))?;
        let stacks = times.into_iter().map(|(stack, nanos)| (stack, vec![nanos]));
        return Ok((stacks.collect(), unit, code));
    };
    let (before, code_of_before) = Drawn::read(path, args)?;
    // A frame has one name in both.
    let names = FrameNames::new(after.frames().into_iter().chain(before.frames()));
    let after = times(&after, args, &names)?;
    let stacks = differences(&before.times(path, &names)?, &after);
    Ok((stacks, unit, code.max(code_of_before)))
}

/// Returns the times of the archive, of which there is at least one.
fn times(drawn: &Drawn, args: &FlamegraphArgs, names: &FrameNames<'_>) -> Result<Times> {
    let times = drawn.times(&args.file, names)?;
    if times.is_empty() {
        let hint = match args.selection.is_all() && !args.samples {
            true => hint_to_others(&args.file)?,
            false => String::new(),
        };
        bail!("cannot draw {}: it has no {}{hint}", args.file.display(), drawn.kind());
    }
    Ok(times)
}

/// Returns each stack with its time before and after.
fn differences(before: &Times, after: &Times) -> Vec<Stack> {
    let mut both: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    before.iter().for_each(|(stack, nanos)| both.entry(stack).or_default().0 = *nanos);
    after.iter().for_each(|(stack, nanos)| both.entry(stack).or_default().1 = *nanos);
    let both = both.into_iter();
    both.map(|(stack, (before, after))| (stack.to_owned(), vec![before, after])).collect()
}
