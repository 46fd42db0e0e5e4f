//! `trace dump`

mod select;

use std::io::{self, BufWriter, Read, Write};

use anyhow::{Context, Result};
use trace_analyze::catalog::Catalog;
use trace_analyze::extent::{self, Extent};
use trace_analyze::Damage;
use trace_convert::text::{self, Names};
use trace_convert::visible;
use trace_format::{ReadError, Reader, Stats};

use crate::cli::DumpArgs;
use crate::input::Spill;
use crate::message::describe;
use crate::times::{refuse_outside, span};
use crate::unreadable::explained;
use crate::{damage, exit, input, say, unmatched, unreadable};
use select::Select;

pub(crate) fn run(args: &DumpArgs) -> Result<u8> {
    let (mut reader, select, extent) = open(args)?;
    let mut output = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut line = String::new();
    let mut damage = Damage::default();
    let mut names = Names::default();
    let mut catalog = Catalog::default();
    let is_by_name = !args.selection.is_all();
    let (mut code, mut is_empty) = (exit::OK, true);
    let failed = "cannot write to standard output";
    loop {
        line.clear();
        match reader.next() {
            Ok(Some(item)) => {
                damage.item(&item);
                match is_by_name {
                    true => catalog.note_labels(&item),
                    false => catalog.note(&item),
                }
                if !select.includes(&item) {
                    names.note(&item);
                    continue;
                }
                text::line_with_names(&mut line, &item, &mut names).context(failed)?;
            }
            Ok(None) => break,
            Err(error) if error.is_input_error() => {
                return Err(unreadable::explain(&args.file, error))
            }
            Err(error) => {
                code = exit::INCOMPLETE;
                line = replacement(&error);
                output.flush().context(failed)?;
                match error.is_fatal() {
                    true => damage::warn_of_cut(&args.file, &error),
                    false => say(&describe(unreadable::explain(&args.file, error).as_ref())),
                }
            }
        }
        is_empty = false;
        line.push('\n');
        output.write_all(line.as_bytes()).context(failed)?;
    }
    output.flush().context(failed)?;
    unmatched::refuse(&args.selection, catalog.label_texts())?;
    if let (true, Some(range)) = (is_empty, select.range()) {
        refuse_outside(&args.file, &extent, range)?;
    }
    if is_empty && args.level.is_some() {
        say("no selected events or log records have this level or a more severe one");
    }
    // Each malformed record was reported at its place, and each loss is a line.
    let stats = Stats { bad_records: 0, ..reader.stats() };
    let Damage { audit, anchors, .. } = damage;
    let damage = Damage { stats, audit, anchors, ..Damage::default() };
    Ok(code.max(damage::warn_of_copy(&args.file, &damage)))
}

/// The input, the selected records, and the extent if there is a range of time.
type Opened = (Reader<Box<dyn Read>>, Select, Extent);

/// Opens the input, which is read twice if the options require its first event or its threads.
fn open(args: &DumpArgs) -> Result<Opened> {
    if args.selection.thread.is_empty() && args.range.is_all() {
        let select = Select::new(args, None, None);
        return Ok((input::open_to_print(&args.file)?, select, Extent::default()));
    }
    let input = Spill::new(&args.file)?;
    let threads = input::selected_threads(&args.file, &input, &args.selection)?;
    let (mut range, mut extent) = (None, Extent::default());
    if !args.range.is_all() {
        extent = explained(&args.file, extent::read(input.open()?))?;
        range = Some(args.range.nanos(span(&extent))?);
    }
    Ok((input.open()?, Select::new(args, range, threads), extent))
}

/// Returns the line that replaces an unreadable record.
fn replacement(error: &ReadError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let line = format!("{:>10} ! {error}{}", "", cause.unwrap_or_default());
    visible(&line).into_owned()
}
