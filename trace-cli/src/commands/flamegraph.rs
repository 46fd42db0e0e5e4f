//! `trace flamegraph`

mod draw;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_analyze::nested;
use trace_analyze::stats::Grouping;
use trace_convert::stacks::{frame_name, Stacks};
use trace_convert::visible;

use crate::args::Format;
use crate::cli::FlamegraphArgs;
use crate::damage::explained;
use crate::input::STANDARD;
use crate::message::HINT;
use crate::output::{self, Output};
use crate::{damage, input, sampled};
use draw::{draw, Stack};

/// The self time or the number of samples of each stack, whose frames are separated by `;`.
type Times = BTreeMap<String, u64>;

pub(crate) fn run(args: &FlamegraphArgs) -> Result<u8> {
    let output = output::path_or_default(args.output.as_deref(), &args.file, "flamegraph.svg")?;
    output::refuse_same_file(&args.file, &output)?;
    Format::Svg.refuse_other(&output)?;
    let (after, mut code) = read(&args.file, args)?;
    if after.is_empty() {
        let what = match args {
            FlamegraphArgs { operations: true, .. } => "async operations",
            FlamegraphArgs { samples: true, .. } => "selected samples",
            _ => "durations",
        };
        bail!("cannot draw {}: it has no {what}", args.file.display());
    }
    let mut title = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stacks = match &args.diff {
        None => after.into_iter().map(|(stack, nanos)| (stack, vec![nanos])).collect(),
        Some(before) => {
            output::refuse_same_file(before, &output)?;
            if before == Path::new(STANDARD) && args.file == Path::new(STANDARD) {
                bail!("standard input is named twice{HINT}name a file");
            }
            title = format!("{title} against {}", before.display());
            let (before, code_of_before) = read(before, args)?;
            code = code.max(code_of_before);
            differences(&before, &after)
        }
    };
    let unit = if args.samples { "samples" } else { "ns" };
    let svg = draw(visible(&title).into_owned(), unit, &stacks)
        .with_context(|| format!("cannot draw {}", args.file.display()))?;
    let mut file = Output::create(&output)?;
    file.write_all(&svg).with_context(|| format!("cannot write {}", output.display()))?;
    file.finish_as(&output)?;
    output::name_default(args.output.as_deref(), &output);
    Ok(code)
}

/// Reports what an archive lacks, and returns its stacks and the exit code.
fn read(path: &Path, args: &FlamegraphArgs) -> Result<(Times, u8)> {
    if args.operations {
        return operations(path, args);
    }
    let by = match args.threads {
        true => Grouping::Thread,
        false => args.by.map(Into::into).unwrap_or_default(),
    };
    if args.samples {
        return sampled::folded(path, &args.selection, by);
    }
    let (reader, code) = input::open_selected(path, &args.selection)?;
    let stacks = explained(path, Stacks::read(reader))?;
    damage::warn_counts(path, &damage::of_durations(&stacks.oddities));
    let code = code.max(damage::warn(path, &stacks.damage));
    let folded = stacks.folded(by).with_context(|| format!("cannot read {}", path.display()))?;
    damage::warn_counts(path, &damage::of_stacks(&folded));
    Ok((folded.stacks().collect(), code))
}

/// Returns the operations within their parents.
fn operations(path: &Path, args: &FlamegraphArgs) -> Result<(Times, u8)> {
    let (reader, code) = input::open_selected(path, &args.selection)?;
    let nested = explained(path, nested::read(reader))?;
    damage::warn_counts(path, &damage::of_operations(&nested.unpaired));
    let code = code.max(damage::warn(path, &nested.damage));
    let stack =
        |names: &[String]| names.iter().map(|name| frame_name(name)).collect::<Vec<_>>().join(";");
    let times = nested.times.iter().filter(|(_, nanos)| **nanos > 0);
    Ok((times.map(|(names, nanos)| (stack(names), *nanos)).collect(), code))
}

/// Returns each stack with its time before and after.
fn differences(before: &Times, after: &Times) -> Vec<Stack> {
    let mut both: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    before.iter().for_each(|(stack, nanos)| both.entry(stack).or_default().0 = *nanos);
    after.iter().for_each(|(stack, nanos)| both.entry(stack).or_default().1 = *nanos);
    let both = both.into_iter();
    both.map(|(stack, (before, after))| (stack.to_owned(), vec![before, after])).collect()
}
