//! `trace flamegraph`

mod draw;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_analyze::stats::Grouping;
use trace_convert::stacks::{Folded, Stacks};

use crate::args::Format;
use crate::cli::FlamegraphArgs;
use crate::damage::explained;
use crate::input::STANDARD;
use crate::message::HINT;
use crate::output::{self, Output};
use crate::{damage, input};
use draw::{draw, Stack};

pub(crate) fn run(args: &FlamegraphArgs) -> Result<u8> {
    output::refuse_same_file(&args.file, &args.output)?;
    Format::Svg.refuse_other(&args.output)?;
    let by = args.by.map(Into::into).unwrap_or_default();
    let (after, mut code) = read(&args.file, by)?;
    if after.stacks().next().is_none() {
        bail!("cannot draw {}: it has no durations", args.file.display());
    }
    let mut title = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stacks = match &args.diff {
        None => after.stacks().map(|(stack, nanos)| (stack, vec![nanos])).collect(),
        Some(before) => {
            output::refuse_same_file(before, &args.output)?;
            if before == Path::new(STANDARD) && args.file == Path::new(STANDARD) {
                bail!("standard input is named twice{HINT}name a file");
            }
            title += &format!(" against {}", before.display());
            let (before, code_of_before) = read(before, by)?;
            code = code.max(code_of_before);
            differences(&before, &after)
        }
    };
    let svg =
        draw(title, &stacks).with_context(|| format!("cannot draw {}", args.file.display()))?;
    let mut output = Output::create(&args.output)?;
    output.write_all(&svg).with_context(|| format!("cannot write {}", args.output.display()))?;
    output.finish_as(&args.output)?;
    Ok(code)
}

/// Reports what an archive lacks, and returns its stacks and the exit code.
fn read(path: &Path, by: Grouping) -> Result<(Folded, u8)> {
    let stacks = explained(path, Stacks::read(input::open(path)?))?;
    damage::warn_counts(path, &damage::of_durations(&stacks.oddities));
    let code = damage::warn(path, &stacks.damage);
    let folded = stacks.folded(by).with_context(|| format!("cannot read {}", path.display()))?;
    damage::warn_counts(path, &damage::of_stacks(&folded));
    Ok((folded, code))
}

/// Returns each stack with its time before and after.
fn differences(before: &Folded, after: &Folded) -> Vec<Stack> {
    let mut both: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    before.stacks().for_each(|(stack, nanos)| both.entry(stack).or_default().0 = nanos);
    after.stacks().for_each(|(stack, nanos)| both.entry(stack).or_default().1 = nanos);
    both.into_iter().map(|(stack, (before, after))| (stack, vec![before, after])).collect()
}
