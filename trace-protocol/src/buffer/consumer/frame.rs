//! Where a record ends.

use trace_format::layout::{large, record, RecordType};

/// Returns the words of the record with this header: at least 1. `None` for a size of 0.
pub fn record_words(header: u64) -> Option<usize> {
    let large = record::Type::get(header) == RecordType::Large.bits();
    let words = if large { large::Size::get(header) } else { record::Size::get(header) };
    usize::try_from(words).ok().filter(|words| *words != 0)
}
