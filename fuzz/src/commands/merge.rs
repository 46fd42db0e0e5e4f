//! `trace merge`.

use std::cell::Cell;

use trace_convert::merge::{Clocks, Merger, Summary};
use trace_format::Reader;

use super::{assert_readable, content, written};
use crate::archive::archive;

/// Takes bytes for two archives: a merge keeps every record of one alone, and of both.
pub fn merge(bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let (first, second) = (archive(first), archive(second));
    let kinds = |archive: &[u8]| content(archive).iter().map(|line| kind(line)).collect::<Vec<_>>();
    let (of_first, of_second) = (kinds(&first), kinds(&second));
    assert_eq!(kinds(&merged(&[&first]).0), of_first);
    let (both, summary) = merged(&[&first, &second]);
    assert_eq!(kinds(&both), [of_first, of_second].concat());
    assert_eq!(summary.events + summary.others, content(&both).len() as u64);
}

/// Returns what a record is.
fn kind(line: &str) -> String {
    line.split(' ').next().unwrap_or_default().to_owned()
}

fn merged(archives: &[&[u8]]) -> (Vec<u8>, Summary) {
    let read =
        |archive: &&[u8]| Clocks::read(Reader::new(*archive)).expect("it starts as archives do");
    let clocks: Vec<_> = archives.iter().map(read).collect();
    let summary = Cell::new(None);
    let output = written(&archives.concat(), |output| {
        let mut merger = Merger::new(output, &clocks).expect("memory can be written");
        for archive in archives {
            merger.add("other", Reader::new(*archive)).expect("it starts as archives do");
        }
        summary.set(Some(merger.finish().expect("memory can be written")));
    });
    assert_readable(&output);
    (output, summary.take().expect("it was written"))
}
