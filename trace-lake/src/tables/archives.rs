//! The archive itself.

use datafusion::error::Result;

use super::{Table, SCHEMA_VERSION};
use crate::archive::Archive;
use crate::columns::{column, Kind};
use crate::directory::{Clock, Directory};
use crate::source::{Output, Source};
use crate::times::signed;

pub(super) static TABLE: Table = Table {
    name: "archives",
    about: "The archive",
    columns: &[
        column("path", Kind::Text, "its path, as it was given"),
        column("schema_version", Kind::Int, "the version of the tables"),
        column("providers", Kind::Text, "the names of the recorded programs, separated by `, `"),
        column("start_ns", Kind::Int, "the time of the first record in nanoseconds, or NULL"),
        column("end_ns", Kind::Int, "the time of the last record"),
        column(
            "start_realtime_ns",
            Kind::Int,
            "the time of the first record since 1970 in nanoseconds, or NULL if unknown",
        ),
        column("records", Kind::Int, "the number of records"),
        column("events", Kind::Int, "the number of events, those of the tracing system included"),
        column("records_dropped", Kind::Int, "the number of records that were dropped"),
        column("malformed_records", Kind::Int, "the number of malformed records"),
        column("is_complete", Kind::Bool, "whether it is readable and reports no missing data"),
    ],
    time: None,
    source: Source::Directory(write),
};

fn write(archive: &Archive, directory: &Directory, output: &mut Output) -> Result<()> {
    let Directory { damage, extent, .. } = directory;
    let start = extent.map(|(start, _)| start);
    let realtime = start.and_then(|start| directory.clocks.convert(start, Clock::Realtime));
    let rows = &mut output.rows;
    rows.text(&*archive.input().path().to_string_lossy());
    rows.int(i64::from(SCHEMA_VERSION));
    rows.text(&*directory.providers.join(", "));
    rows.int(start);
    rows.int(extent.map(|(_, end)| end));
    rows.int(realtime);
    rows.int(signed(damage.stats.records));
    rows.int(signed(directory.events));
    rows.int(signed(damage.records_dropped));
    rows.int(signed(damage.stats.bad_records));
    rows.bool(damage.is_none());
    output.end()
}

#[cfg(test)]
mod tests {
    use crate::testing::{archive, complete, query};

    #[test]
    fn an_archive_has_its_extent() {
        let bytes = archive(&[complete("a", 5, 20)]);
        let sql = "SELECT schema_version, providers, start_ns, end_ns, start_realtime_ns, events, \
            records_dropped, malformed_records, is_complete FROM archives";
        assert_eq!(query(&bytes, sql), ["1|app|5|20||1|0|0|true"]);
    }

    #[test]
    fn a_cut_archive_is_not_complete() {
        let mut bytes = archive(&[complete("a", 5, 20), complete("b", 5, 20)]);
        bytes.truncate(bytes.len() - 8);
        assert_eq!(query(&bytes, "SELECT count(*) FROM spans"), ["1"]);
        assert_eq!(query(&bytes, "SELECT is_complete FROM archives"), ["false"]);
    }
}
