//! Samples of call stacks.

use datafusion::error::Result;
use trace_format::{Item, Record};

use super::common::{ID, PID, PROCESS, THREAD, THREAD_ID, TID, TIME};
use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, RecordReader, Source};
use crate::times::{nanos, signed};

pub(super) static TABLE: Table = Table {
    name: "samples",
    about: "A sample of the call stack of a thread",
    columns: &[
        ID,
        PID,
        TID,
        PROCESS,
        THREAD,
        THREAD_ID,
        TIME,
        column("frames", Kind::Int, "the number of frames"),
        column("address", Kind::Unsigned, "the innermost address, or NULL"),
        column(
            "addresses",
            Kind::Text,
            "the addresses in base 16, innermost first, separated by `;`",
        ),
    ],
    time: Some("time_ns"),
    source: Source::Records(reader),
};

struct Samples<'a>(&'a Directory);

fn reader(archive: &Archive) -> Result<Box<dyn RecordReader + '_>> {
    Ok(Box::new(Samples(archive.directory()?)))
}

impl RecordReader for Samples<'_> {
    fn record(&mut self, item: &Item<'_>, number: i64, output: &mut Output) -> Result<()> {
        let (Self(directory), Record::Backtrace(sample)) = (self, &item.record) else {
            return Ok(());
        };
        let time = nanos(item, sample.ticks);
        if !output.range.has(time) {
            return Ok(());
        }
        let koids = item.thread(sample.thread);
        let thread = directory.number(koids);
        let addresses: Vec<String> =
            sample.frames.iter().map(|address| format!("{address:#x}")).collect();
        let rows = &mut output.rows;
        rows.int(number);
        rows.unsigned(koids.process);
        rows.unsigned(koids.thread);
        rows.text(directory.process_name(directory.process_number(koids.process)));
        rows.text(directory.thread_name(thread));
        rows.int(thread.map(|number| number as i64));
        rows.int(time);
        rows.int(signed(sample.frames.len() as u64));
        rows.unsigned(sample.frames.iter().next());
        rows.text(&*addresses.join(";"));
        output.end()
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Backtrace, Thread};

    use crate::testing::{archive, query, THREAD};

    #[test]
    fn a_sample_has_its_addresses() {
        let thread = Thread::Inline(THREAD);
        let sample = Backtrace { ticks: 5, thread, frames: (&[16, 32][..]).into() };
        let sql = "SELECT tid, time_ns, frames, address, addresses FROM samples";
        assert_eq!(query(&archive(&[sample.into()]), sql), ["34|5|2|16|0x10;0x20"]);
    }
}
