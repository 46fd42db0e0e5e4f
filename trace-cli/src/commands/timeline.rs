//! `trace timeline`

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{bail, Context, Result};
use trace_convert::timeline::{Drawn, Timeline};
use trace_format::Reader;

use crate::args::Format;
use crate::cli::TimelineArgs;
use crate::damage::explained;
use crate::input::STANDARD;
use crate::output::{self, Output};
use crate::{damage, input, say};

pub(crate) fn run(args: &TimelineArgs) -> Result<u8> {
    output::refuse_same_file(&args.file, &args.output)?;
    let format = format_of(&args.output)?;
    let timeline = read(args)?;
    let mut output = BufWriter::new(Output::create(&args.output)?);
    let title = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy();
    let failed = || format!("cannot write '{}'", args.output.display());
    match format {
        Format::Svg => tell(&args.file, timeline.svg(&title, &mut output).with_context(failed)?),
        _ => timeline.html(&title, &mut output).with_context(failed)?,
    }
    output.flush().with_context(failed)?;
    output.into_inner().map_err(|error| error.into_error())?.finish_as(&args.output)?;
    Ok(damage::tell(&args.file, &timeline.damage))
}

/// Returns what is to be drawn: a page or a picture.
fn format_of(output: &Path) -> Result<Format> {
    match Format::of(output) {
        Ok(Some(format @ (Format::Svg | Format::Html))) => Ok(format),
        Ok(None) if output == Path::new(STANDARD) => Ok(Format::Html),
        _ => bail!("'{}': expected a name that ends in .html or .svg", output.display()),
    }
}

fn read(args: &TimelineArgs) -> Result<Timeline> {
    let path = &args.file;
    let reader: Reader<_> = input::open(path)?;
    let timeline = explained(path, Timeline::read(reader, args.limit))?;
    let name = path.display();
    if timeline.left_out > 0 {
        bail!(
            "'{name}' has {} events, and a timeline no more than {}: cut a part out \
             (trace slice {name} --from 1s --to 2s -o part.fxt), or choose another --limit",
            timeline.events + timeline.left_out,
            args.limit
        );
    }
    if timeline.events == 0 {
        let others = match timeline.not_drawn {
            0 => String::new(),
            number => format!(", but objects, blobs or other records: {number}"),
        };
        bail!("'{name}' has no events to draw{others}");
    }
    Ok(timeline)
}

/// Tells what a picture has left out.
fn tell(path: &Path, drawn: Drawn) {
    let name = path.display();
    let counts = [
        ("rows without room in the SVG, or not for all of their lanes", drawn.rows_cut),
        ("boxes and marks beyond what the SVG holds", drawn.shapes_left_out),
        ("arrows, that would hide all else in the SVG", drawn.arrows_left_out),
    ];
    for (what, number) in counts.iter().filter(|(_, number)| *number > 0) {
        say(&format!("'{name}': {what}: {number}; trace timeline -o out.html shows all"));
    }
}
