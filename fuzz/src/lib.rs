//! What the fuzz targets do with any bytes: panics are faults.

use std::fmt::Write;

use trace_convert::{check, chrome, tef, text, ConvertError};
use trace_format::reader::Limits;
use trace_format::Reader;

/// The start of every archive.
const MAGIC: [u8; 8] = [0x10, 0x00, 0x04, 0x46, 0x78, 0x54, 0x16, 0x00];

/// Takes bytes for a document: what can be read of it becomes an archive that is
/// well-formed, and comes back as a document that then stays what it is. The
/// first time only values stay: `1e3` becomes `1000.0`, and that `1000`.
pub fn json(bytes: &[u8]) {
    lenient(bytes);
    let Some(archive) = to_fxt(bytes) else {
        return;
    };
    let report = check::check(Reader::new(&archive[..])).expect("memory can be read");
    assert_eq!((report.stats.bad_records, report.stats.unknown_records), (0, 0), "{report:?}");
    let first = again(&to_json(&archive));
    assert_eq!(String::from_utf8(again(&first)), String::from_utf8(first));
}

/// A lenient reader fails only where there is no document at all.
fn lenient(bytes: &[u8]) {
    let limits = tef::Limits { lenient: true, value_bytes: 1 << 16 };
    let mut reader = tef::Reader::with_limits(bytes, limits);
    if reader.form().is_err() {
        return;
    }
    while reader.next().expect("a lenient reader goes on").is_some() {}
}

fn to_fxt(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut archive = Vec::new();
    match tef::to_fxt(tef::Reader::new(bytes), &mut archive) {
        Ok(_) => Some(archive),
        Err(ConvertError::Json(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// Converts a document that was written here, there and back.
fn again(json: &[u8]) -> Vec<u8> {
    to_json(&to_fxt(json).expect("what was written can be read"))
}

fn to_json(archive: &[u8]) -> Vec<u8> {
    let mut json = Vec::new();
    chrome::write(Reader::new(archive), &mut json).expect("it starts as archives do");
    json
}

/// Takes bytes for an archive: all that reads archives gets to its end, and the
/// JSON that is made of it is JSON.
pub fn fxt(bytes: &[u8]) {
    let bytes = bytes.strip_prefix(&MAGIC).unwrap_or(bytes);
    let archive = [&MAGIC, bytes].concat();
    let limits = Limits { record_bytes: 1 << 20, ..Limits::default() };
    let mut reader = Reader::with_limits(&archive[..], limits);
    let mut line = String::new();
    loop {
        match reader.next() {
            Ok(Some(item)) => text::line(&mut line, &item).expect("a string takes any text"),
            Ok(None) => break,
            Err(error) => write!(line, "{error}").expect("a string takes any text"),
        }
        line.clear();
    }
    check::check(Reader::new(&archive[..])).expect("memory can be read");
    to_fxt(&to_json(&archive)).expect("what was written is JSON");
}
