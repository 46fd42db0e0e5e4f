//! Values of counters.

use datafusion::error::Result;
use trace_format::{Event, EventKind, Item, Record};

use super::common::{CATEGORY, ID, PID, PROCESS, PROCESS_ID, THREAD, THREAD_ID, TID, TIME};
use super::events::hashed;
use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, RecordReader, Source};
use crate::times::nanos;

pub(super) static TABLE: Table = Table {
    name: "counters",
    about: "A value of a counter; a counter event has one for each numeric argument",
    columns: &[
        ID,
        CATEGORY,
        column("name", Kind::Text, "the name of the counter"),
        column("series", Kind::Text, "the name of the argument"),
        column("counter_id", Kind::Unsigned, "the id of the counter, which separates equal names"),
        column("track_id", Kind::Int, "the number of the process's name, series and counter_id"),
        PID,
        TID,
        PROCESS,
        THREAD,
        PROCESS_ID,
        THREAD_ID,
        TIME,
        column("value", Kind::Real, "the value, in the program's unit"),
    ],
    time: Some("time_ns"),
    source: Source::Records(reader),
};

struct Counters<'a>(&'a Directory);

fn reader(archive: &Archive) -> Result<Box<dyn RecordReader + '_>> {
    Ok(Box::new(Counters(archive.directory()?)))
}

impl RecordReader for Counters<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        let Record::Event(event @ Event { kind: EventKind::Counter { id }, .. }) = &item.record
        else {
            return Ok(());
        };
        if !output.range.has(nanos(item, event.ticks)) {
            return Ok(());
        }
        for argument in event.arguments.iter() {
            if let Some(value) = argument.value.number() {
                let series = item.text(argument.name);
                self.write(item, event, (number, *id, &series), value, output)?;
            }
        }
        Ok(())
    }
}

impl Counters<'_> {
    fn write(
        &self,
        item: &Item<'_>,
        event: &Event<'_>,
        (number, counter, series): (i64, u64, &str),
        value: f64,
        output: &mut Output,
    ) -> Result<()> {
        let Self(directory) = self;
        let koids = item.thread(event.thread);
        let (thread, process) = (directory.number(koids), directory.process_number(koids.process));
        let name = item.text(event.name);
        let rows = &mut output.rows;
        rows.int(number);
        rows.text(&*item.text(event.category));
        rows.text(&*name);
        rows.text(series);
        rows.unsigned(counter);
        rows.int(track(koids.process, &name, series, counter));
        rows.unsigned(koids.process);
        rows.unsigned(koids.thread);
        rows.text(directory.process_name(process));
        rows.text(directory.thread_name(thread));
        rows.int(process.map(|number| number as i64));
        rows.int(thread.map(|number| number as i64));
        rows.int(nanos(item, event.ticks));
        rows.real(value);
        output.end()
    }
}

/// Returns the id of a counter's track: a hash.
fn track(process: u64, name: &str, series: &str, counter: u64) -> i64 {
    let bytes = name.bytes().chain([0]).chain(series.bytes());
    let texts = bytes.fold(counter, |hash, byte| hashed(hash, byte.into()) as u64);
    hashed(process, texts)
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, EventKind, Value};

    use crate::testing::{archive, event, query};

    #[test]
    fn each_numeric_argument_is_a_series() {
        let values = [
            Argument::new("a", Value::Int32(-3)),
            Argument::new("b", Value::Double(0.25)),
            Argument::new("text", Value::String("x".into())),
        ];
        let bytes = archive(&[
            event("load", 10, EventKind::Counter { id: 1 }, &values),
            event("load", 20, EventKind::Counter { id: 2 }, &values[..1]),
        ]);
        let sql = "SELECT name, series, counter_id, time_ns, value FROM counters \
            ORDER BY time_ns, series";
        assert_eq!(
            query(&bytes, sql),
            ["load|a|1|10|-3.0", "load|b|1|10|0.25", "load|a|2|20|-3.0"]
        );
        assert_eq!(query(&bytes, "SELECT count(DISTINCT track_id) FROM counters"), ["3"]);
    }
}
