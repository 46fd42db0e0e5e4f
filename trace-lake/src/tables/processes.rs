//! Processes.

use datafusion::error::Result;

use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, Source};

pub(super) static TABLE: Table = Table {
    name: "processes",
    about: "A process that has records or a name",
    columns: &[
        column("id", Kind::Int, "its number, in the order of first records"),
        column("pid", Kind::Unsigned, "its id, as Linux numbers it"),
        column("name", Kind::Text, "its name, or that of its first thread, or NULL"),
    ],
    time: None,
    source: Source::Directory(write),
};

fn write(_: &Archive, directory: &Directory, output: &mut Output) -> Result<()> {
    for (number, process) in directory.processes.iter().enumerate() {
        output.rows.int(number as i64);
        output.rows.unsigned(process.process);
        output.rows.text(process.name.as_deref());
        output.end()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trace_format::layout::ObjectType;

    use crate::testing::{archive, complete, named, of_process, query};

    #[test]
    fn threads_belong_to_processes() {
        let process = of_process();
        let bytes = archive(&[
            complete("a", 1, 2),
            named(ObjectType::PROCESS, 12, "app", &[]),
            named(ObjectType::THREAD, 35, "worker", &process),
            named(ObjectType::THREAD, 99, "loose", &[]),
        ]);
        let processes = query(&bytes, "SELECT id, pid, name FROM processes");
        assert_eq!(processes, ["0|12|app"]);
        let threads =
            query(&bytes, "SELECT id, process_id, track_id, pid, tid, process, name FROM threads");
        assert_eq!(threads, ["0|0|0|12|34|app|", "1|0|2|12|35|app|worker", "2||4||99||loose"]);
    }
}
