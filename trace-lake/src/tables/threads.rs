//! Threads.

use datafusion::error::Result;

use super::{thread_track, Table};
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, Source};

pub(super) static TABLE: Table = Table {
    name: "threads",
    about: "A thread that has records or a name",
    columns: &[
        column("id", Kind::Int, "its number, in the order of first records"),
        column("process_id", Kind::Int, "processes.id, or NULL if its process is unknown"),
        column("track_id", Kind::Int, "the number of its track"),
        column("pid", Kind::Unsigned, "its process, or NULL if that is unknown"),
        column("tid", Kind::Unsigned, "its id, as Linux numbers it"),
        column("process", Kind::Text, "the name of its process, or NULL"),
        column("name", Kind::Text, "its name, or NULL"),
    ],
    time: None,
    source: Source::Directory(write),
};

fn write(_: &Archive, directory: &Directory, output: &mut Output) -> Result<()> {
    for (number, thread) in directory.threads.iter().enumerate() {
        let process = thread.process.and_then(|process| directory.process_number(process));
        let rows = &mut output.rows;
        rows.int(number as i64);
        rows.int(process.map(|number| number as i64));
        rows.int(thread_track(number));
        rows.unsigned(thread.process);
        rows.unsigned(thread.thread);
        rows.text(directory.process_name(process));
        rows.text(thread.name.as_deref());
        output.end()?;
    }
    Ok(())
}
