//! The commands that read archives, on any archive.

mod compressed;
mod critical_path;
mod export;
mod merge;
mod pftrace;
mod read;
mod recover;
mod slice;
mod stacks;
mod stats;
mod timeline;

use trace_analyze::check;
use trace_convert::text;
use trace_format::{Reader, Record};

pub use compressed::compressed;
pub use critical_path::critical_path;
pub use export::export;
pub use merge::merge;
pub use pftrace::pftrace;
pub use read::read;
pub use recover::recover;
pub use slice::slice;
pub use stacks::stacks;
pub use stats::stats;
pub use timeline::timeline;

/// Returns the records of an archive as `trace dump` prints them, without their places and
/// providers, and without tables.
fn content(archive: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(archive);
    let mut lines = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(item)) if is_content(&item.record) => {
                let mut line = String::new();
                text::line(&mut line, &item).expect("a string takes any text");
                let after_place = line.trim_start().splitn(3, ' ').nth(2);
                lines.push(after_place.expect("a place and a provider come first").to_owned());
            }
            Ok(None) => return lines,
            Ok(Some(_)) | Err(_) => {}
        }
    }
}

fn is_content(record: &Record<'_>) -> bool {
    use Record::{Initialization, Metadata, String, Thread};
    !matches!(record, Metadata(_) | Initialization { .. } | String { .. } | Thread { .. })
}

/// Asserts that an archive that was written has no errors.
fn assert_readable(archive: &[u8]) {
    let report = check::check(Reader::new(archive)).expect("memory can be read");
    assert_eq!(report.error_count, 0, "{report:?}");
}

/// Asserts that an output is bounded by the archive: each record may refer to its longest string.
fn assert_bounded(archive: &[u8], output: &[u8]) {
    let most = (1 << 20) + 64 * archive.len() + archive.len() * archive.len();
    assert!(output.len() <= most, "{} bytes of {}", output.len(), archive.len());
}

/// Returns what `write` writes, which is the same each time.
fn written(archive: &[u8], write: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut output = Vec::new();
    write(&mut output);
    // A second time costs as much as the first.
    if archive.len() % 8 == 0 && archive.len() / 8 % 4 == 0 {
        let mut again = Vec::new();
        write(&mut again);
        assert!(output == again, "the output is the same each time");
    }
    assert_bounded(archive, &output);
    output
}

/// Returns the JSON that was written.
fn json(output: &[u8]) -> serde_json::Value {
    match serde_json::from_slice(output) {
        Ok(value) => value,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(output)),
    }
}
