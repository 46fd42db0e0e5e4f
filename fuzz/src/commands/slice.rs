//! `trace slice`.

use std::cell::Cell;

use trace_convert::slice::{self, Plan, Selection, Summary};
use trace_format::Reader;

use super::{assert_readable, content, written};
use crate::archive::archive;

/// Takes bytes for an archive: a slice of all keeps every record, any other one some of them, and
/// what is written can be read.
pub fn slice(bytes: &[u8]) {
    let archive = archive(bytes);
    let all = content(&archive);
    let (kept, summary) = sliced(&archive, &Selection::default());
    assert_eq!(content(&kept), all);
    assert_eq!(
        (counted(&summary), summary.events.removed + summary.others.removed),
        (all.len() as u64, 0)
    );
    assert_eq!(content(&sliced(&kept, &Selection::default()).0), all);
    let from = 1_000_000_000 + u64::from(bytes.last().copied().unwrap_or(0)) * 500;
    let category = |category: &str| category != "a";
    let part = Selection {
        from,
        to: Some(from + 200_000),
        category: Some(&category),
        ..Selection::default()
    };
    let (kept, summary) = sliced(&archive, &part);
    let some = content(&kept);
    assert_eq!(
        (some.len() as u64, summary.events.all() + summary.others.all()),
        (counted(&summary), all.len() as u64)
    );
    assert_subsequence(&some, &all);
}

/// Returns the number of records that are kept.
fn counted(summary: &Summary) -> u64 {
    summary.events.kept + summary.others.kept
}

fn sliced(archive: &[u8], selection: &Selection<'_>) -> (Vec<u8>, Summary) {
    let plan = Plan::read(Reader::new(archive), selection).expect("it starts as archives do");
    let summary = Cell::new(None);
    let part = written(archive, |output| {
        let write = slice::write(Reader::new(archive), &plan, output);
        summary.set(Some(write.expect("it starts as archives do")));
    });
    assert_readable(&part);
    (part, summary.take().expect("it was written"))
}

/// Clock anchors are moved into the time of the slice.
fn assert_subsequence(some: &[String], all: &[String]) {
    let mut all = all.iter();
    for line in some.iter().filter(|line| !line.contains("\"trace\" \"clock anchor\"")) {
        assert!(all.any(|other| other == line), "{line} is a record of the archive, in its place");
    }
}
