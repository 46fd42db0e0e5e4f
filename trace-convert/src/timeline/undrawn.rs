//! Records that nothing is drawn for.

use std::collections::BTreeMap;

use trace_format::{Item, Record};

use trace_analyze::carried::{is_carried, EVENT};

/// How many there are, by what they are.
#[derive(Debug, Default)]
pub(super) struct Undrawn(BTreeMap<&'static str, u64>);

impl Undrawn {
    /// Counts a record, if it would be missed.
    pub(super) fn note(&mut self, item: &Item<'_>) {
        let kind = match &item.record {
            Record::Blob(blob) => match &*item.text(blob.name) {
                EVENT => "events of JSON that FXT has no place for",
                // A document's own members, and what is drawn in another way.
                name if is_carried(name) => return,
                _ => "blobs without a time",
            },
            Record::LargeBlob(_) => "blobs without a time",
            Record::UserspaceObject(_) => "objects of programs",
            Record::Module(_) | Record::Mmap(_) | Record::Backtrace(_) => "records of profilers",
            Record::Unknown(_) => "records of unknown types",
            _ => return,
        };
        *self.0.entry(kind).or_default() += 1;
    }

    pub(super) fn number(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns a line for each kind.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(kind, number)| format!("{kind}, not drawn: {number}"))
    }
}
