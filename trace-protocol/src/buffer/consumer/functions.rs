//! Replaces the function records of a chunk by duration records.
//!
//! The result is what a chunk without function records has: a call that ended is a duration
//! complete, an open one is a duration begin with a spare word.

use trace_format::layout::EventType;

use crate::buffer::function::{
    base_of, event_header_of, function_words, Ticks, Type, BASE, CALL_WORDS,
};

use super::frame::record_words;

/// Words of a duration begin with a spare word, and of a duration complete.
const SCOPE_WORDS: usize = 3;

/// Words of a piece, behind whose last record the next piece begins. The chunks of a provider of
/// this project have fewer. A damaged one may be as large as a rolling buffer.
const PIECE_WORDS: usize = SCOPE_WORDS << 16;

/// Returns the most words that the records of a chunk become, if it may have function records.
pub fn most_words(chunk: usize) -> usize {
    chunk.saturating_add(chunk / CALL_WORDS)
}

/// Words of the record at the begin of `words`, of a chunk that may have function records. `None`
/// if its size is 0 or exceeds the words.
pub(super) fn frame(words: &[u64]) -> Option<usize> {
    let header = *words.first()?;
    let size = function_words(header).or_else(|| record_words(header));
    size.filter(|size| *size <= words.len())
}

/// Replaces function records, piece by piece. Its memory is used again for each chunk.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// The records of the piece.
    pub(super) words: Vec<u64>,
    base: Option<u64>,
    /// Calls of the chunk without a base.
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
        while self.words.len() < PIECE_WORDS {
            let Some(&header) = chunk.first().filter(|header| **header != 0) else { return &[] };
            let Some((record, rest)) = frame(chunk).and_then(|size| chunk.split_at_checked(size))
            else {
                // It does not frame without the words behind it either.
                self.words.push(header);
                return &[];
            };
            match record {
                [base] if Type::get(*base) == BASE => self.base = Some(base_of(*base)),
                [call, end] if function_words(*call).is_some() => self.call(*call, *end),
                _ => self.words.extend_from_slice(record),
            }
            chunk = rest;
        }
        chunk
    }

    fn call(&mut self, call: u64, end: u64) {
        let Some(base) = self.base else {
            self.malformed += 1;
            return;
        };
        let event_type = match end {
            0 => EventType::DurationBegin,
            _ => EventType::DurationComplete,
        };
        let header = event_header_of(call, event_type, SCOPE_WORDS);
        self.words.extend([header, base.wrapping_add(Ticks::get(call)), end]);
    }
}

#[cfg(test)]
mod tests {
    use crate::buffer::function::CALL;

    use super::*;

    /// As large as a rolling buffer, with more words in the archive.
    #[test]
    fn a_chunk_of_any_size_is_expanded_in_pieces() {
        let call = [CALL | 5 << 34, 200];
        let chunk = [vec![BASE | 7 << 4], call.repeat(500_000)].concat();
        let mut functions = Functions::default();
        functions.begin_chunk();
        let (mut rest, mut words, mut pieces) = (chunk.as_slice(), 0, 0);
        while !rest.is_empty() {
            rest = functions.expand(rest);
            assert!(functions.words.len() < PIECE_WORDS + SCOPE_WORDS);
            let mut scopes = functions.words.chunks_exact(SCOPE_WORDS);
            assert!(scopes.all(|scope| scope[1..] == [7 * 16 + 5, 200]), "the base is kept");
            (words, pieces) = (words + functions.words.len(), pieces + 1);
        }
        assert_eq!((words, functions.malformed), (500_000 * SCOPE_WORDS, 0));
        assert!(words <= most_words(chunk.len()) && pieces > 1);
    }

    #[test]
    fn what_does_not_frame_ends_the_chunk_and_is_counted() {
        let mut functions = Functions::default();
        functions.begin_chunk();
        let broken = vec![0xffff_fff4; 1000];
        for header in [0x4, 0xfff4] {
            let chunk = [&[CALL, 0, header], &broken[..]].concat();
            assert!(functions.expand(&chunk).is_empty());
            assert_eq!(functions.words, [header]);
        }
        assert_eq!(functions.malformed, 2);
    }

    #[test]
    fn a_call_that_is_cut_by_the_end_of_its_chunk_does_not_frame() {
        let mut functions = Functions::default();
        functions.begin_chunk();
        assert!(functions.expand(&[BASE | 7 << 4, CALL]).is_empty());
        assert_eq!(functions.words, [CALL]);
    }
}
