//! Log messages.

use datafusion::error::Result;
use trace_format::{Item, Record};

use super::common::{ID, PID, PROCESS, THREAD, THREAD_ID, TID, TIME};
use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, RecordReader, Source};
use crate::times::nanos;

pub(super) static TABLE: Table = Table {
    name: "logs",
    about: "A log message",
    columns: &[
        ID,
        PID,
        TID,
        PROCESS,
        THREAD,
        THREAD_ID,
        TIME,
        column("message", Kind::Text, "the message"),
    ],
    time: Some("time_ns"),
    source: Source::Records(reader),
};

struct Logs<'a>(&'a Directory);

fn reader(archive: &Archive) -> Result<Box<dyn RecordReader + '_>> {
    Ok(Box::new(Logs(archive.directory()?)))
}

impl RecordReader for Logs<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        let (Self(directory), Record::Log(log)) = (self, &item.record) else { return Ok(()) };
        let time = nanos(item, log.ticks);
        if !output.range.has(time) {
            return Ok(());
        }
        let koids = item.thread(log.thread);
        let thread = directory.number(koids);
        let rows = &mut output.rows;
        rows.int(number);
        rows.unsigned(koids.process);
        rows.unsigned(koids.thread);
        rows.text(directory.process_name(directory.process_number(koids.process)));
        rows.text(directory.thread_name(thread));
        rows.int(thread.map(|number| number as i64));
        rows.int(time);
        rows.text(&*String::from_utf8_lossy(log.message));
        output.end()
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Log, Thread};

    use crate::testing::{archive, query, THREAD};

    #[test]
    fn messages_have_their_time_and_thread() {
        let thread = Thread::Inline(THREAD);
        let bytes = archive(&[Log { ticks: 9, thread, message: b"started" }.into()]);
        let sql = "SELECT pid, tid, time_ns, message FROM logs";
        assert_eq!(query(&bytes, sql), ["12|34|9|started"]);
        assert!(query(&bytes, "SELECT 1 FROM logs WHERE time_ns > 9").is_empty());
    }
}
