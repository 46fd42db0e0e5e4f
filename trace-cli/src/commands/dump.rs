//! `trace dump`

mod select;

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result};
use trace_analyze::objects::Objects;
use trace_analyze::Damage;
use trace_convert::{text, visible};
use trace_format::audit::Audit;
use trace_format::{ReadError, Stats};

use crate::cli::DumpArgs;
use crate::input::Spill;
use crate::message::describe;
use crate::{damage, exit, input, say};
use select::Select;

pub(crate) fn run(args: &DumpArgs) -> Result<u8> {
    let (mut reader, threads) = match args.selection.thread.is_empty() {
        true => (input::open_to_print(&args.file)?, None),
        false => {
            let input = Spill::new(&args.file)?;
            let threads = input::selected_threads(&args.file, &input, &args.selection)?;
            (input.open()?, threads)
        }
    };
    let select = Select::new(args, threads);
    let mut output = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut line = String::new();
    let mut audit = Audit::default();
    let mut objects = Objects::default();
    let mut code = exit::OK;
    let failed = "cannot write to standard output";
    loop {
        line.clear();
        match reader.next() {
            Ok(Some(item)) => {
                audit.item(&item);
                if !select.includes(&item) {
                    objects.note(&item);
                    continue;
                }
                text::line_with_names(&mut line, &item, &mut objects).context(failed)?;
            }
            Ok(None) => break,
            Err(error) if error.is_input_error() => return Err(input::explain(&args.file, error)),
            Err(error) => {
                code = exit::INCOMPLETE;
                line = replacement(&error);
                output.flush().context(failed)?;
                say(&describe(input::explain(&args.file, error).as_ref()));
            }
        }
        line.push('\n');
        output.write_all(line.as_bytes()).context(failed)?;
    }
    output.flush().context(failed)?;
    // Each malformed record was reported at its place.
    let stats = Stats { bad_records: 0, ..reader.stats() };
    Ok(code.max(damage::warn(&args.file, &Damage { stats, audit, ..Damage::default() })))
}

/// Returns the line that replaces an unreadable record.
fn replacement(error: &ReadError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let line = format!("{:>10} ! {error}{}", "", cause.unwrap_or_default());
    visible(&line).into_owned()
}
