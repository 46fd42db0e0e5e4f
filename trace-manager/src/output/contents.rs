//! Whether an archive has records of a program.

use std::fs::File;

use trace_format::record::Record;
use trace_format::{notes, Item, Reader};

use super::OffsetReader;

/// Returns whether an archive has events, blobs and the like: records other than those that each
/// session writes, reports of missing data, and names of strings and threads. An archive with
/// errors may have some.
pub(crate) fn has_records(archive: &File) -> bool {
    let mut reader = Reader::new(OffsetReader::new(archive, 0));
    loop {
        match reader.next() {
            Ok(Some(item)) if is_recorded(&item) => return true,
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

fn is_recorded(item: &Item<'_>) -> bool {
    match &item.record {
        Record::Event(event) => {
            item.text(event.category) != notes::CATEGORY || !is_note(&item.text(event.name))
        }
        Record::Metadata(_)
        | Record::Initialization { .. }
        | Record::String { .. }
        | Record::Thread { .. }
        | Record::KernelObject(_) => false,
        _ => true,
    }
}

/// Returns whether an event of this name reports clocks or missing data.
fn is_note(name: &str) -> bool {
    let of_losses = [notes::RECORDS_DROPPED, notes::OVERWRITTEN, notes::INTERRUPTED];
    name == notes::CLOCK_ANCHOR
        || of_losses.contains(&name)
        || notes::Omission::of_event(name).is_some()
}
