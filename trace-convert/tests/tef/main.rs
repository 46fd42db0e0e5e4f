//! JSON to FXT and back.

mod cpus;
mod documents;
mod ends;
mod ids;
mod json;
mod lenient;
mod native;
mod phases;
mod round_trip;
mod shown;
mod sliced;
mod stacks;
mod system;
mod times;

use trace_analyze::check;
use trace_convert::{chrome, tef};
use trace_format::Reader;

/// Returns the archive of a document.
pub(crate) fn archive(json: &[u8]) -> (Vec<u8>, tef::Summary) {
    let mut archive = Vec::new();
    // A malformed document fails below.
    let shift = tef::shift(tef::Limits::default(), || Ok(json)).unwrap_or(0);
    let summary = tef::to_fxt(tef::Reader::new(json).shifted(shift), &mut archive).unwrap();
    let report = check::check(Reader::new(&archive[..])).unwrap();
    assert_eq!(report.damage.stats.bad_records, 0, "{report:?}");
    (archive, summary)
}

/// Returns the document of an archive.
pub(crate) fn document(archive: &[u8]) -> String {
    let mut json = Vec::new();
    chrome::write(Reader::new(archive), &mut json).unwrap();
    String::from_utf8(json).unwrap()
}
