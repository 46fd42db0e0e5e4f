//! `trace follow`

mod json;

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use anyhow::{Context, Result};
use trace_analyze::is_clock_anchor;
use trace_convert::text::{self, Names};
use trace_format::{Decoder, Item, Record};

use crate::cli::{Filter, FollowArgs, FollowFormat};
use crate::live::{self, Source, State, Threads};
use crate::message::{counted, describe};
use crate::{exit, say};

/// The longest time to wait for records.
const TIMEOUT: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &FollowArgs) -> Result<u8> {
    let socket = args.client.socket.as_deref();
    let mut source = Source::open(&args.input, &args.selection.categories, socket)?;
    let (mut decoder, mut printer) = (Decoder::default(), Printer::new(args));
    let mut output = BufWriter::new(io::stdout().lock());
    let failed = "cannot write to standard output";
    let mut code = exit::OK;
    loop {
        let state = source.read(&mut decoder, TIMEOUT).context("cannot read the records")?;
        let error =
            source.drain(&mut decoder, |item| printer.print(item, &mut output).context(failed))?;
        output.flush().context(failed)?;
        if let Some(error) = &error {
            say(&describe(error));
            code = exit::INCOMPLETE;
        }
        if state == State::Ended || error.is_some_and(|error| error.is_fatal()) {
            break;
        }
    }
    if let Some(message) = source.early_end() {
        say(&message);
        code = exit::INCOMPLETE;
    }
    if printer.lost != 0 {
        let records = counted(printer.lost, "record was", "records were");
        say(&format!("{records} dropped"));
        code = exit::INCOMPLETE;
    }
    Ok(code)
}

/// Prints the selected records.
struct Printer {
    format: FollowFormat,
    filter: Option<Filter>,
    threads: Threads,
    names: Names,
    line: String,
    lost: u64,
}

impl Printer {
    fn new(args: &FollowArgs) -> Self {
        Self {
            format: args.format,
            filter: (!args.selection.is_all()).then(|| args.selection.filter()),
            threads: Threads::new(args.selection.thread.clone()),
            names: Names::default(),
            line: String::new(),
            lost: 0,
        }
    }

    fn print(&mut self, item: &Item<'_>, output: &mut impl Write) -> io::Result<()> {
        self.threads.note(item);
        let dropped = live::dropped(item);
        self.lost += dropped.unwrap_or(0);
        if self.format == FollowFormat::Fxt {
            let is_selected = !has_time(item) || dropped.is_some() || self.includes(item);
            return if is_selected { output.write_all(item.bytes) } else { Ok(()) };
        }
        if !has_time(item) || !(dropped.is_some() || self.includes(item)) || is_anchor(item) {
            self.names.note(item);
            return Ok(());
        }
        self.line.clear();
        match self.format {
            FollowFormat::Json => json::line(&mut self.line, item, &self.threads),
            _ => text::line_with_names(&mut self.line, item, &mut self.names)
                .map_err(io::Error::other)?,
        }
        self.line.push('\n');
        output.write_all(self.line.as_bytes())
    }

    /// Returns whether an event passes all filters. Records without a category pass only without
    /// filters.
    fn includes(&self, item: &Item<'_>) -> bool {
        let Record::Event(event) = &item.record else { return self.filter.is_none() };
        let matches =
            |filter: &Filter| filter.matches(&item.text(event.category), &item.text(event.name));
        self.filter.as_ref().is_none_or(matches)
            && self.threads.includes(item.thread(event.thread).thread)
    }
}

fn is_anchor(item: &Item<'_>) -> bool {
    matches!(&item.record, Record::Event(event) if is_clock_anchor(item, event))
}

/// Returns whether a record is an event or the like. Others are names, which later records need.
fn has_time(item: &Item<'_>) -> bool {
    !matches!(
        item.record,
        Record::Metadata(_)
            | Record::Initialization { .. }
            | Record::String { .. }
            | Record::Thread { .. }
            | Record::KernelObject(_)
            | Record::UserspaceObject(_)
    )
}
