//! Selects the records of a session for one of its sinks.
//!
//! Providers record the union of the sinks' categories. A category is compared with the sink's
//! patterns once, when its string is registered; for an event, one bit is looked up.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use trace_format::layout::{
    event, large, large_blob, record, string, LargeBlobFormat, RecordType, StringRef,
};
use trace_format::notes;
use trace_protocol::buffer::consumer::record_words;
use trace_protocol::categories::CategorySet;
use trace_protocol::words::as_bytes;

use crate::records::{Records, Spares, SECTION};

/// The filter of one sink.
#[derive(Debug, Clone)]
pub(crate) struct CategoryFilter {
    categories: CategorySet,
    spares: Spares,
    excluded: BTreeMap<u32, Excluded>,
}

/// A bit for each string index of a provider: set if the sink does not get that category.
type Excluded = Box<[u64; 512]>;

impl CategoryFilter {
    pub(crate) fn new(categories: &[String], spares: Spares) -> Self {
        Self { categories: CategorySet::new(categories), spares, excluded: BTreeMap::new() }
    }

    /// Returns the records without the events of other categories. If all stay, the words are
    /// shared.
    ///
    /// Strings, threads and objects stay, because later records may refer to them. Events of the
    /// category `trace` stay, because they report losses.
    pub(crate) fn select(&mut self, records: &Records) -> Records {
        let excluded = self.excluded.entry(records.provider).or_insert_with(|| Box::new([0; 512]));
        let selected = select(&self.categories, excluded, &records.words, &self.spares);
        if records.is_last {
            self.excluded.remove(&records.provider);
        }
        match selected {
            Some(words) => Records { words: self.spares.share(words), ..records.clone() },
            None => records.clone(),
        }
    }
}

/// Returns the words of the selected records; `None` if all are selected.
fn select(
    categories: &CategorySet,
    excluded: &mut Excluded,
    words: &[u64],
    spares: &Spares,
) -> Option<Vec<u64>> {
    let mut kept: Option<Vec<u64>> = None;
    let (mut at, mut run) = (SECTION, 0);
    while let Some(&header) = words.get(at) {
        let size = record_words(header).unwrap_or(usize::MAX).min(words.len() - at);
        let record = words.get(at..at + size).unwrap_or_default();
        if record::Type::get(header) == RecordType::String.bits() {
            register_string(categories, excluded, record);
        } else if is_excluded(categories, excluded, record) {
            let kept = kept.get_or_insert_with(|| spares.take());
            kept.extend_from_slice(words.get(run..at).unwrap_or_default());
            run = at + size;
        }
        at += size;
    }
    if let Some(kept) = &mut kept {
        kept.extend_from_slice(words.get(run..).unwrap_or_default());
    }
    kept
}

/// Returns whether a record is an event of a category that the sink does not get.
#[inline]
fn is_excluded(categories: &CategorySet, excluded: &Excluded, record: &[u64]) -> bool {
    let Some((category, text)) = category(record) else { return false };
    match category.inline_bytes() {
        None => category
            .index()
            .is_some_and(|index| excluded[usize::from(index) / 64 % 512] >> (index % 64) & 1 != 0),
        Some(length) => {
            let bytes = as_bytes(text).get(..length);
            !matches(categories, bytes.unwrap_or_default())
        }
    }
}

/// Returns a record's category, if it has one, and the words after the fixed part. An inline
/// category is at their start.
#[inline]
fn category(record: &[u64]) -> Option<(StringRef, &[u64])> {
    let [header, second, ..] = *record else { return None };
    let kind = record::Type::get(header);
    let (bits, at) = if kind == RecordType::Event.bits() {
        let thread = if event::ThreadRef::get(header) == 0 { 2 } else { 0 };
        (event::CategoryRef::get(header), 2 + thread)
    } else if kind == RecordType::Large.bits()
        && large::BlobFormat::get(header) == LargeBlobFormat::Event.bits()
    {
        (large_blob::CategoryRef::get(second), 2)
    } else {
        return None;
    };
    Some((StringRef::from_bits(bits as u16), record.get(at..).unwrap_or_default()))
}

fn register_string(categories: &CategorySet, excluded: &mut Excluded, record: &[u64]) {
    let [header, text @ ..] = record else { return };
    let index = string::Index::get(*header) as usize;
    let text = as_bytes(text).get(..string::Length::get(*header) as usize).unwrap_or_default();
    let bit = 1 << (index % 64);
    let word = &mut excluded[index / 64 % 512];
    *word = if matches(categories, text) { *word & !bit } else { *word | bit };
}

fn matches(categories: &CategorySet, category: &[u8]) -> bool {
    category == notes::CATEGORY.as_bytes()
        || std::str::from_utf8(category).is_ok_and(|category| categories.matches(category))
}
