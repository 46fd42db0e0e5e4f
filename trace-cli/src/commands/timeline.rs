//! `trace timeline`

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_convert::timeline::{Drawn, Timeline};

use crate::args::Format;
use crate::cli::TimelineArgs;
use crate::input::STANDARD;
use crate::message::{counted, HINT};
use crate::output::{self, Output};
use crate::unreadable::explained;
use crate::{damage, input, say};

pub(crate) fn run(args: &TimelineArgs) -> Result<u8> {
    let path = output::path_or_default(args.output.as_deref(), &args.file, "timeline.html")?;
    output::refuse_same_file(&args.file, &path)?;
    let format = format_of(&path)?;
    let (timeline, code) = read(args)?;
    let mut output = BufWriter::new(Output::create(&path)?);
    let title = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy();
    let failed = || format!("cannot write {}", path.display());
    match format {
        Format::Svg => warn(&args.file, timeline.svg(&title, &mut output).with_context(failed)?),
        _ => timeline.html(&title, &mut output).with_context(failed)?,
    }
    output.flush().with_context(failed)?;
    output.into_inner().map_err(|error| error.into_error())?.finish_as(&path)?;
    output::name_default(args.output.as_deref(), &path);
    damage::warn_counts(&args.file, &[damage::of_reversed(timeline.reversed)]);
    Ok(code.max(damage::warn(&args.file, &timeline.damage)))
}

/// Returns the format to draw: a page or a picture.
fn format_of(output: &Path) -> Result<Format> {
    match Format::of(output) {
        Ok(Some(format @ (Format::Svg | Format::Html))) => Ok(format),
        Ok(None) if output == Path::new(STANDARD) => Ok(Format::Html),
        _ => bail!("cannot draw {}{HINT}use a name that ends in .html or .svg", output.display()),
    }
}

fn read(args: &TimelineArgs) -> Result<(Timeline, u8)> {
    let path = &args.file;
    let (reader, code) = input::open_selected(path, &args.selection)?;
    let timeline = explained(path, Timeline::read(reader, args.limit))?;
    let name = path.display();
    if timeline.left_out > 0 {
        let what = match timeline.events < args.limit {
            true => "strings and arguments of ",
            false => "",
        };
        bail!(
            "cannot draw {name}: {what}{} the limit of {}{HINT}extract a part with trace slice \
             {name} --from 1s --to 2s -o part.fxt, or raise --limit",
            counted(timeline.events + timeline.left_out, "event exceeds", "events exceed"),
            args.limit
        );
    }
    if timeline.events == 0 {
        let only = match timeline.not_drawn {
            0 => String::new(),
            number => format!(", only {number} objects, blobs or other records"),
        };
        bail!("cannot draw {name}: it has no events{only}");
    }
    Ok((timeline, code))
}

/// Reports what a picture leaves out.
fn warn(path: &Path, drawn: Drawn) {
    let name = path.display();
    let counts = [
        ("rows cut from the SVG, in whole or in part", drawn.rows_cut),
        ("boxes and marks beyond the limit of the SVG", drawn.shapes_left_out),
        ("arrows that would cover the SVG", drawn.arrows_left_out),
    ];
    for (what, number) in counts.iter().filter(|(_, number)| *number > 0) {
        say(&format!("{name}: {what}: {number}{HINT}draw a page with all of them: -o out.html"));
    }
}
