//! Notes below a timeline: missing data, and records that are not drawn.

use std::collections::BTreeMap;

use trace_format::{Item, Record};

use trace_analyze::carried::{is_carried, EVENT};
use trace_analyze::pairing::Unpaired;
use trace_analyze::Damage;

use super::series::NotDrawn;

/// Returns the notes of a timeline. `unpaired` has events of threads, and of operations.
pub(super) fn notes(
    damage: &Damage,
    unpaired: [Unpaired; 2],
    undrawn: &Undrawn,
    of_counters: NotDrawn,
) -> Vec<String> {
    let [threads, operations] = unpaired;
    let counts = [
        (damage.buffers_full, "full buffers while recording"),
        (damage.stats.bad_records, "malformed records, skipped"),
        (damage.audit.unknown_strings, "unresolved references to strings"),
        (damage.audit.unknown_threads, "unresolved references to threads"),
        (threads.begins, "durations whose end is missing, drawn without a right edge"),
        (threads.ends, "ends of durations whose begin is missing, not drawn"),
        (operations.begins, "operations whose end is missing, drawn without a right edge"),
        (operations.ends, "ends of operations whose begin is missing, not drawn"),
        (of_counters.not_finite, "values of counters that are not finite numbers, not drawn"),
        (of_counters.beyond, "values of counters with more than 64 series, not drawn"),
    ];
    let counted = counts.iter().filter(|(number, _)| *number > 0);
    let mut notes: Vec<String> =
        counted.map(|(number, what)| format!("{what}: {number}")).collect();
    notes.extend(undrawn.notes());
    notes.extend(damage.cut.as_ref().map(|error| format!("the archive is cut: {error}")));
    notes
}

/// The number of records that are not drawn, by type.
#[derive(Debug, Default)]
pub(super) struct Undrawn(BTreeMap<&'static str, u64>);

impl Undrawn {
    /// Counts a record, unless it only carries JSON.
    pub(super) fn note(&mut self, item: &Item<'_>) {
        let kind = match &item.record {
            Record::Blob(blob) => match &*item.text(blob.name) {
                EVENT => "events of JSON that FXT cannot express",
                // Members of a document, and events that have a record as well.
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

    /// Returns a note for each type.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(kind, number)| format!("{kind}, not drawn: {number}"))
    }
}
