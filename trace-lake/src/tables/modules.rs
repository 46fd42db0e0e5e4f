//! Programs and libraries.

use datafusion::error::Result;

use super::common::{PID, PROCESS_ID};
use super::Table;
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::Directory;
use crate::source::{Output, Source};

pub(super) static TABLE: Table = Table {
    name: "modules",
    about: "A program or library that a process has loaded",
    columns: &[
        PID,
        PROCESS_ID,
        column("name", Kind::Text, "its name"),
        column("build_id", Kind::Text, "its build id in base 16"),
        column("time_ns", Kind::Int, "the time of the observation in nanoseconds"),
    ],
    time: Some("time_ns"),
    source: Source::Directory(write),
};

fn write(_: &Archive, directory: &Directory, output: &mut Output) -> Result<()> {
    for module in &directory.modules {
        output.rows.unsigned(module.process);
        output.rows.int(directory.process_number(module.process).map(|number| number as i64));
        output.rows.text(&*module.name);
        output.rows.text(&*module.build_id);
        output.rows.int(module.nanos);
        output.end()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trace_format::{Module, Process};

    use crate::testing::{archive, query};

    #[test]
    fn a_module_has_its_build_id() {
        let process = Process::Inline(12);
        let module =
            Module { ticks: 3, process, module_id: 1, name: b"libc.so", build_id: &[1, 0xab] };
        let sql = "SELECT pid, name, build_id, time_ns FROM modules";
        assert_eq!(query(&archive(&[module.into()]), sql), ["12|libc.so|01ab|3"]);
    }
}
