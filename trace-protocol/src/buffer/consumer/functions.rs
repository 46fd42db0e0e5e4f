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

/// Words of a piece, behind whose last record the next piece begins. The chunks of a provider of
/// this project have fewer. A damaged one may be as large as a rolling buffer.
const PIECE_WORDS: usize = MOST_WORDS << 16;

/// Words of the record at the begin of `words`, of a chunk that may have function records. `None`
/// if its size is 0 or exceeds the words.
pub(super) fn frame(words: &[u64]) -> Option<usize> {
    let header = *words.first()?;
    let size = if is_function_record(header) { Some(1) } else { record_words(header) };
    size.filter(|size| *size <= words.len())
}

/// Replaces function records, piece by piece. Its memory is used again for each chunk.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// The records of the piece.
    pub(super) words: Vec<u64>,
    /// The open scopes of the piece's thread: names, and where the record begins in `words`.
    open: Vec<(u64, usize)>,
    base: Option<u64>,
    /// Function records of the chunk without a base.
    pub(super) malformed: u64,
}

impl Clone for Functions {
    /// Of a chunk, nothing is left for the next one.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Functions {
    /// Begins a chunk.
    pub(super) fn begin_chunk(&mut self) {
        (self.base, self.malformed) = (None, 0);
    }

    /// Takes the records of the next piece of a chunk, up to the first word that is no header.
    /// Returns the rest of the chunk.
    pub(super) fn expand<'a>(&mut self, mut chunk: &'a [u64]) -> &'a [u64] {
        self.words.clear();
        self.open.clear();
        while self.words.len() < PIECE_WORDS {
            let Some(&header) = chunk.first().filter(|header| **header != 0) else { return &[] };
            let Some((record, rest)) = frame(chunk).and_then(|size| chunk.split_at_checked(size))
            else {
                // It does not frame without the words behind it either.
                self.words.push(header);
                return &[];
            };
            if is_function_record(header) {
                self.function_record(header);
            } else {
                if Type::get(header) == RecordType::Thread.bits() {
                    // Another thread has the slot, and with it the chunk.
                    self.open.clear();
                }
                self.words.extend_from_slice(record);
            }
            chunk = rest;
        }
        chunk
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
    /// If there is none, the entry is in an earlier piece, and so is no scope of this piece around
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As large as a rolling buffer, with three times as many words in the archive.
    #[test]
    fn a_chunk_of_any_size_is_expanded_in_pieces() {
        let entry = ENTRY | 5 << 34;
        let chunk = [vec![BASE | 7 << 4], vec![entry; 500_000]].concat();
        let mut functions = Functions::default();
        functions.begin_chunk();
        let (mut rest, mut words, mut pieces) = (chunk.as_slice(), 0, 0);
        while !rest.is_empty() {
            rest = functions.expand(rest);
            assert!(functions.words.len() < PIECE_WORDS + SCOPE_WORDS);
            assert!(functions.open.len() <= PIECE_WORDS / SCOPE_WORDS);
            let begins = functions.words.chunks_exact(SCOPE_WORDS);
            assert!(begins.into_iter().all(|begin| begin[1] == 7 * 16 + 5), "the base is kept");
            (words, pieces) = (words + functions.words.len(), pieces + 1);
        }
        assert_eq!((words, functions.malformed), (500_000 * SCOPE_WORDS, 0));
        assert!(pieces > 1);
    }

    #[test]
    fn what_does_not_frame_ends_the_chunk_and_is_counted() {
        let mut functions = Functions::default();
        functions.begin_chunk();
        let broken = vec![0xffff_fff4; 1000];
        for header in [0x4, 0xfff4] {
            let chunk = [&[ENTRY, header], &broken[..]].concat();
            assert!(functions.expand(&chunk).is_empty());
            assert_eq!(functions.words, [header]);
        }
        assert_eq!(functions.malformed, 2);
    }
}
