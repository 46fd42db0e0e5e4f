//! `trace flamegraph`

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{bail, Context, Result};
use inferno::flamegraph::{self, Options, TextTruncateDirection};
use trace_analyze::stats::Grouping;
use trace_convert::stacks::{Folded, Stacks};

use crate::args::Format;
use crate::cli::FlamegraphArgs;
use crate::damage::explained;
use crate::input::STANDARD;
use crate::message::HINT;
use crate::output::{self, Output};
use crate::{damage, input};

pub(crate) fn run(args: &FlamegraphArgs) -> Result<u8> {
    output::refuse_same_file(&args.file, &args.output)?;
    Format::Svg.refuse_other(&args.output)?;
    let by = args.by.map(Into::into).unwrap_or_default();
    let (after, mut code) = read(&args.file, by)?;
    if after.stacks().next().is_none() {
        bail!("cannot draw {}: it has no durations", args.file.display());
    }
    let mut options = Options::default();
    options.title = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    options.count_name = "ns".to_owned();
    options.text_truncate_direction = TextTruncateDirection::Right;
    // The same archive makes the same picture.
    options.deterministic = true;
    let lines = match &args.diff {
        None => {
            let line = |(stack, nanos): (String, u64)| format!("{} {nanos}", unmistakable(&stack));
            after.stacks().map(line).collect()
        }
        Some(before) => {
            output::refuse_same_file(before, &args.output)?;
            if before == Path::new(STANDARD) && args.file == Path::new(STANDARD) {
                bail!("standard input is named twice{HINT}name a file");
            }
            options.title += &format!(" against {}", before.display());
            let (before, code_of_before) = read(before, by)?;
            code = code.max(code_of_before);
            differences(&before, &after)
        }
    };
    let svg = draw(&mut options, &lines)
        .with_context(|| format!("cannot draw {}", args.file.display()))?;
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

/// Returns a line for each stack, with its time before and after.
fn differences(before: &Folded, after: &Folded) -> Vec<String> {
    let mut both: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    before.stacks().for_each(|(stack, nanos)| both.entry(stack).or_default().0 = nanos);
    after.stacks().for_each(|(stack, nanos)| both.entry(stack).or_default().1 = nanos);
    let line = |(stack, (before, after)): (&String, &(u64, u64))| {
        format!("{} {before} {after}", unmistakable(stack))
    };
    both.iter().map(line).collect()
}

/// Returns a stack in which no name ends like a time: `worker 1 500` would be read
/// as `worker` with two times. A no-break space keeps the number in the name.
fn unmistakable(stack: &str) -> String {
    let name = |name: &str| match name.rsplit_once(' ') {
        Some((head, number)) if number.starts_with(|start: char| start.is_ascii_digit()) => {
            format!("{head}\u{a0}{number}")
        }
        _ => name.to_owned(),
    };
    let names: Vec<String> = stack.split(';').map(name).collect();
    names.join(";")
}

/// Draws into memory, because inferno reduces write errors to text.
fn draw(options: &mut Options<'_>, lines: &[String]) -> Result<Vec<u8>> {
    let mut svg = Vec::new();
    let lines = lines.iter().map(String::as_str);
    flamegraph::from_lines(options, lines, &mut svg)?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_end_in_a_number_are_drawn() {
        let lines = ["all of it;worker 1", "all of it;worker 1;read 2"].map(unmistakable);
        assert_eq!(lines[0], "all of it;worker\u{a0}1");
        let mut options = Options::default();
        let mut svg = Vec::new();
        let lines = lines.map(|line| line + " 500");
        let lines = lines.iter().map(String::as_str);
        flamegraph::from_lines(&mut options, lines, &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.contains("worker\u{a0}1 (1,000 samples, 100.00%)"), "{svg}");
        assert!(svg.contains("read\u{a0}2 (500 samples, 50.00%)"), "{svg}");
    }
}
