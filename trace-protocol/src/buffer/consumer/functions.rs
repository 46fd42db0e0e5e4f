//! Replaces the function records of a chunk by duration records.
//!
//! The result is what a chunk without function records has: a scope that ended is a duration
//! complete, an open one is a duration begin with a spare word, and an exit whose entry is in an
//! earlier chunk is a duration end.

use trace_format::layout::{event, EventType, RecordType};

use crate::buffer::function::{
    base_of, event_header_of, is_function_record, Names, Ticks, Type, BASE, ENTRY,
};

use super::frame::record_words;

/// The most words that a function record becomes.
pub const MOST_WORDS: usize = SCOPE_WORDS;

/// Words of a duration begin with a spare word, and of a duration complete.
const SCOPE_WORDS: usize = 3;

/// Words of a duration end.
const END_WORDS: usize = 2;

/// Words of the record at the begin of `words`, of a chunk that may have function records. `None`
/// if its size is 0 or exceeds the words.
pub(super) fn frame(words: &[u64]) -> Option<usize> {
    let header = *words.first()?;
    let size = if is_function_record(header) { Some(1) } else { record_words(header) };
    size.filter(|size| *size <= words.len())
}

/// Replaces function records. Its memory is used again for each chunk.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// The records of the chunk.
    pub(super) words: Vec<u64>,
    /// The open scopes of the chunk's thread: names, and where the record begins in `words`.
    open: Vec<(u64, usize)>,
    base: Option<u64>,
    /// Function records without a base.
    pub(super) malformed: u64,
}

impl Clone for Functions {
    /// Of a chunk, nothing is left for the next one.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Functions {
    /// Takes the records of a chunk, up to the first word that is no header.
    pub(super) fn expand(&mut self, mut chunk: &[u64]) {
        self.words.clear();
        self.open.clear();
        (self.base, self.malformed) = (None, 0);
        while let Some(&header) = chunk.first().filter(|header| **header != 0) {
            let size = frame(chunk);
            if is_function_record(header) {
                self.function_record(header);
            } else {
                if Type::get(header) == RecordType::Thread.bits() {
                    // Another thread has the slot, and with it the chunk.
                    self.open.clear();
                }
                self.words
                    .extend_from_slice(chunk.get(..size.unwrap_or(usize::MAX)).unwrap_or(chunk));
            }
            let Some(size) = size else { return };
            chunk = chunk.get(size..).unwrap_or_default();
        }
    }

    fn function_record(&mut self, record: u64) {
        let kind = Type::get(record);
        if kind == BASE {
            self.base = Some(base_of(record));
            return;
        }
        let Some(base) = self.base else {
            self.malformed += 1;
            return;
        };
        let ticks = base.wrapping_add(Ticks::get(record));
        match kind {
            ENTRY => self.enter(record, ticks),
            _ => self.exit(record, ticks),
        }
    }

    fn enter(&mut self, record: u64, ticks: u64) {
        self.open.push((Names::get(record), self.words.len()));
        let header = event_header_of(record, EventType::DurationBegin, SCOPE_WORDS);
        self.words.extend([header, ticks, 0]);
    }

    /// Ends the innermost open scope of these names. Scopes inside of it have lost their exits, or
    /// their guards are forgotten: they stay open.
    ///
    /// If there is none, the entry is in an earlier chunk, and so is no scope of this chunk around
    /// it.
    fn exit(&mut self, record: u64, ticks: u64) {
        let names = Names::get(record);
        while let Some((opened, place)) = self.open.pop() {
            if opened != names {
                continue;
            }
            if let Some([header, _, end]) = self.words.get_mut(place..place + SCOPE_WORDS) {
                *header = event::EventType::set(*header, EventType::DurationComplete.bits());
                *end = ticks;
            }
            return;
        }
        let header = event_header_of(record, EventType::DurationEnd, END_WORDS);
        self.words.extend([header, ticks]);
    }
}
