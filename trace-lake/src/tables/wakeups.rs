//! Wake-ups of threads.

use datafusion::error::Result;
use trace_analyze::scheduling::{wakeup_nanos, Waker};
use trace_format::{Item, Record};

use super::common::{ID, THREAD, THREAD_ID, TID, TIME};
use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, RecordReader, Source};
use crate::times::signed;

pub(super) static TABLE: Table = Table {
    name: "wakeups",
    about: "A thread becomes ready to run",
    columns: &[
        ID,
        column("cpu", Kind::Int, "the processor that the thread will run on"),
        TID,
        THREAD,
        THREAD_ID,
        column("waker_tid", Kind::Unsigned, "the thread that woke it up, or NULL"),
        column("waker", Kind::Text, "the name of that thread, or NULL"),
        column("waker_thread_id", Kind::Int, "threads.id of that thread"),
        column("interrupt", Kind::Text, "`hard` or `soft` if an interrupt woke it up, or NULL"),
        TIME,
    ],
    time: Some("time_ns"),
    source: Source::Records(reader),
};

struct Wakeups<'a>(&'a Directory);

fn reader(archive: &Archive) -> Result<Box<dyn RecordReader + '_>> {
    Ok(Box::new(Wakeups(archive.directory()?)))
}

impl RecordReader for Wakeups<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        let (Self(directory), Record::ThreadWakeup(wakeup)) = (self, &item.record) else {
            return Ok(());
        };
        let time = signed(wakeup_nanos(item, wakeup));
        if !output.range.has(time) {
            return Ok(());
        }
        let thread = directory.number_of_thread(wakeup.thread);
        let (waker, interrupt) = match Waker::of(item, &wakeup.arguments) {
            Some(Waker::Thread(waker)) => (Some(waker), None),
            Some(Waker::Interrupt { kind, .. }) => (None, Some(kind.as_str())),
            None => (None, None),
        };
        let waker_thread = waker.and_then(|waker| directory.number_of_thread(waker));
        let rows = &mut output.rows;
        rows.int(number);
        rows.int(i64::from(wakeup.cpu));
        rows.unsigned(wakeup.thread);
        rows.text(directory.thread_name(thread));
        rows.int(thread.map(|number| number as i64));
        rows.unsigned(waker);
        rows.text(directory.thread_name(waker_thread));
        rows.int(waker_thread.map(|number| number as i64));
        rows.text(interrupt);
        rows.int(time);
        output.end()
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, ThreadWakeup, Value};

    use crate::testing::{archive, query};

    #[test]
    fn a_wakeup_has_its_waker() {
        let waker = [Argument::new("waker", Value::Koid(8))];
        let wakeup = ThreadWakeup { ticks: 40, cpu: 1, thread: 7, arguments: (&waker[..]).into() };
        let bytes = archive(&[wakeup.into()]);
        let sql = "SELECT cpu, tid, waker_tid, interrupt, time_ns FROM wakeups";
        assert_eq!(query(&bytes, sql), ["1|7|8||40"]);
    }
}
