//! Tests of the packets for each record type.

mod events;
mod records;
mod shown;

use trace_format::{Reader, Record};

use super::write;
use crate::testing::archive;
use crate::Conversion;

/// The tracks of the process and the thread of these tests.
const TRACKS: [&str; 2] = ["track 1 process 12 \"\"", "track 2 < 1 thread 12/34 \"\""];

fn convert(records: &[Record<'_>]) -> (Vec<String>, Conversion) {
    convert_bytes(&archive(records))
}

fn convert_bytes(archive: &[u8]) -> (Vec<String>, Conversion) {
    let mut output = Vec::new();
    let conversion = write(Reader::new(archive), &mut output).unwrap();
    (shown::lines(&output), conversion)
}

/// Checks the packets before the descriptors of process and thread.
#[track_caller]
fn on_thread(records: &[Record<'_>], expected: &[&str]) {
    let (lines, _) = convert(records);
    let (lines, tracks) = lines.split_at(lines.len() - 2);
    assert_eq!(tracks, TRACKS);
    assert_eq!(lines, expected);
}

#[track_caller]
fn all(records: &[Record<'_>], expected: &[&str]) {
    assert_eq!(convert(records).0, expected);
}
