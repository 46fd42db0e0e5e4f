//! Records that are missing, as the archive reports them.

use datafusion::error::Result;
use trace_analyze::{Gap, Loss};
use trace_format::{Item, Record};

use super::common::{ID, PID, PROCESS, THREAD};
use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, RecordReader, Source};
use crate::times::{nanos, signed};

pub(super) static TABLE: Table = Table {
    name: "losses",
    about: "A report of dropped records",
    columns: &[
        ID,
        PID,
        column("tid", Kind::Unsigned, "the thread; 0 if the report is of several threads"),
        PROCESS,
        THREAD,
        column("reason", Kind::Text, "the reason"),
        column("records", Kind::Int, "the number of dropped records"),
        column("from_ns", Kind::Int, "the begin of the time of the losses in nanoseconds"),
        column("to_ns", Kind::Int, "its end"),
    ],
    time: Some("to_ns"),
    source: Source::Records(reader),
};

struct Losses<'a>(&'a Directory);

fn reader(archive: &Archive) -> Result<Box<dyn RecordReader + '_>> {
    Ok(Box::new(Losses(archive.directory()?)))
}

impl RecordReader for Losses<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        let (Self(directory), Record::Event(event)) = (self, &item.record) else { return Ok(()) };
        let Some(loss) = Loss::of(item, event) else { return Ok(()) };
        let gap = Gap::of(item, event).unwrap_or(Gap { from: event.ticks, to: event.ticks });
        let to = nanos(item, gap.to);
        if !output.range.has(to) {
            return Ok(());
        }
        let rows = &mut output.rows;
        rows.int(number);
        rows.unsigned(loss.thread.process);
        rows.unsigned(loss.thread.thread);
        rows.text(directory.process_name(directory.process_number(loss.thread.process)));
        rows.text(directory.thread_name(directory.number(loss.thread)));
        rows.text(&*loss.reason);
        rows.int(signed(loss.number));
        rows.int(nanos(item, gap.from));
        rows.int(to);
        output.end()
    }
}

#[cfg(test)]
mod tests {
    use trace_format::layout::InstantScope;
    use trace_format::{Argument, Event, EventKind, Record, Thread, Value};

    use crate::testing::{archive, query, THREAD};

    #[test]
    fn reports_of_dropped_records_are_losses() {
        let arguments = [
            Argument::new("reason", Value::String("buffer full".into())),
            Argument::new("number", Value::Uint64(7)),
            Argument::new("from", Value::Uint64(20)),
            Argument::new("to", Value::Uint64(30)),
        ];
        let bytes = archive(&[Record::Event(Event {
            ticks: 31,
            thread: Thread::Inline(THREAD),
            category: "trace".into(),
            name: "records dropped".into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Thread) },
            arguments: (&arguments[..]).into(),
        })]);
        let sql = "SELECT pid, tid, reason, records, from_ns, to_ns FROM losses";
        assert_eq!(query(&bytes, sql), ["12|34|buffer full|7|20|30"]);
        assert_eq!(query(&bytes, "SELECT records_dropped FROM archives"), ["7"]);
    }
}
