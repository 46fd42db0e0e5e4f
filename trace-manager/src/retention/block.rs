//! A block of retained records, of which the first ones may be removed.

use trace_protocol::buffer::consumer::record_words;

use crate::records::{Records, Spares, SECTION};

/// Retained records.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) records: Records,
    /// The losses that these and earlier records report, and those from before the session.
    pub(super) reported: u64,
    /// The index of the first word that is retained.
    pub(super) start: usize,
    /// Whether records were removed.
    pub(super) is_trimmed: bool,
    /// The last removed record that names a chunk's thread, which the rest of the chunk needs.
    pub(super) thread: Vec<u64>,
}

impl Block {
    pub(super) fn new(records: Records, reported: u64) -> Self {
        Self { records, reported, start: SECTION, is_trimmed: false, thread: Vec::new() }
    }

    /// Returns the retained words.
    pub(super) fn words(&self) -> &[u64] {
        self.records.words.get(self.start..).unwrap_or_default()
    }

    /// Returns the size of the first retained record in words, if there is one.
    pub(super) fn first_size(&self) -> Option<usize> {
        split_first(self.words()).map(|(record, _)| record.len())
    }

    /// Frees the memory of removed records, if it is more than that of the others.
    pub(super) fn compact(&mut self, spares: &Spares) {
        let words = self.words();
        if words.len() >= self.start {
            return;
        }
        let section = self.records.words.get(..SECTION).unwrap_or_default();
        self.records.words = spares.share([section, words].concat());
        self.start = SECTION;
    }
}

/// Returns the first record, and the words after it.
pub(super) fn split_first(words: &[u64]) -> Option<(&[u64], &[u64])> {
    let size = record_words(*words.first()?).unwrap_or(words.len()).clamp(1, words.len());
    words.split_at_checked(size)
}
